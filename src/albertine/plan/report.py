"""One model's plan as numbers: what `--json` prints and what the tables show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from albertine.plan import flops, memory, parameters
from albertine.plan.flops import Flops
from albertine.plan.job import Job
from albertine.plan.memory import Inference, Training
from albertine.plan.parameters import Parameters


@dataclass(frozen=True)
class Report:
    """Everything that `albertine plan` knows of a model under a job."""

    name: str
    job: Job
    parameters: Parameters
    flops: Flops
    plain: Training
    checkpointed: Training
    inference: Inference

    @property
    def training(self) -> Training:
        """The training step as the job asks for it."""
        return self.checkpointed if self.job.checkpointing else self.plain

    def to_dict(self) -> dict[str, Any]:
        job = self.job
        return {
            "model": self.name,
            "config": job.config.to_dict(),
            "job": {
                "batch": job.batch,
                "length": job.length,
                "precision": job.precision,
                "checkpointing": job.checkpointing,
                "optimiser": job.optimiser,
                "asked_share": job.asked_share,
            },
            "parameters": self.parameters.to_dict(),
            "flops_per_token": self.flops.to_dict(checkpointing=job.checkpointing),
            "training_bytes": self.training.to_dict(),
            "activation_bytes": {
                "without_checkpointing": self.plain.activations,
                "with_checkpointing": self.checkpointed.activations,
            },
            "inference_bytes": self.inference.to_dict(),
        }


def report(name: str, job: Job) -> Report:
    return Report(
        name=name,
        job=job,
        parameters=parameters.count(job.config),
        flops=flops.count(job.config, job.length, asked_share=job.asked_share),
        plain=memory.training(replace(job, checkpointing=False)),
        checkpointed=memory.training(replace(job, checkpointing=True)),
        inference=memory.inference(job),
    )
