from todoke.cli import main

main()
