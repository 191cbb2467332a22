from albertine.cli import main

main()
