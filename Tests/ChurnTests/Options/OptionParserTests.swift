import Testing

@testable import churn

/// The command line.
@Suite struct OptionParserTests {
  @Test func defaultsReplayTheRepositoryHereInEveryMode() throws {
    let options = try OptionParser.parse([])

    #expect(options == Options())
    #expect(options.source == .automatic)
    #expect(options.modes == [.async, .sync, .serial, .lanes, .mainThread, .structured])
    #expect(options.inFlight == 1024)
    #expect(options.roundCount == 3)
    #expect(options.followed == nil)
  }

  @Test func readsEveryOption() throws {
    let options = try OptionParser.parse([
      "--repo", "/a b", "--mode", "lanes", "--in-flight", "7", "--producers=3", "--copies", "2",
      "--limit", "9", "--rounds", "5", "--json", "--follow", "a.jsonl", "--help",
    ])

    var expected = Options()
    expected.source = .repository("/a b")
    expected.modes = [.lanes]
    expected.inFlight = 7
    expected.producers = 3
    expected.copies = 2
    expected.limit = 9
    expected.rounds = 5
    expected.printsJSON = true
    expected.followed = "a.jsonl"
    expected.showsHelp = true
    #expect(options == expected)
  }

  @Test func aReplayThatIsSavedHasAnOrder() throws {
    let options = try OptionParser.parse(["--persist", "a.db"])
    #expect(options.persisted == "a.db" && options.modes == [.serial])
    #expect(try OptionParser.parse(["--persist=a.db", "--mode", "sync"]).modes == [.sync])
  }

  @Test func replaysOnceWhereTheAnswersAreFollowed() throws {
    #expect(try OptionParser.parse(["--follow", "a"]).roundCount == 1)
    #expect(try OptionParser.parse(["--follow", "a", "--rounds", "2"]).roundCount == 2)
    #expect(try OptionParser.parse(["--persist", "a"]).roundCount == 1)
  }

  @Test(arguments: [("-", Options.Source.standardInput), ("x.log", .file("x.log"))])
  func readsTheInput(value: String, source: Options.Source) throws {
    #expect(try OptionParser.parse(["--input", value]).source == source)
  }

  @Test(arguments: [
    (["--nonsense"], "unknown option '--nonsense'"),
    (["file.log"], "unexpected argument 'file.log'"),
    (["--repo"], "'--repo' needs a value"),
    (["--input="], "'--input' needs a value"),
    (["--limit", "-3"], "'--limit' needs a whole number from 1 to 1000000000, not '-3'"),
    (["--copies", "many"], "'--copies' needs a whole number from 1 to 1000000, not 'many'"),
    (["--rounds", "0"], "'--rounds' needs a whole number from 1 to 1000, not '0'"),
    (["--producers", "0"], "'--producers' needs a whole number from 1 to 256, not '0'"),
    (["--in-flight", "1.5"], "'--in-flight' needs a whole number from 1 to 1000000000, not '1.5'"),
    (["--follow"], "'--follow' needs a value"),
    (
      ["--follow", "-"],
      "'--follow' needs the name of a file, since standard output has the report"
    ),
    (["--mode", "lanes", "--mode=sync"], "'--mode' is there twice"),
    (["--json", "--json"], "'--json' is there twice"),
    (
      ["--record", "run.txt"],
      "'--record' writes a page (.html), JSON lines (.jsonl) or a trace for Perfetto (.json), as the "
        + "file's name ends, not 'run.txt'"
    ),
    (["--persist"], "'--persist' needs a value"),
    (
      ["--persist", "a", "--mode", "lanes"],
      "'--persist' needs '--mode serial' or '--mode sync'"
    ),
    (["--persist", "a", "--rounds", "2"], "'--persist' replays once: leave '--rounds' out"),
    (
      ["--persist", "a", "--follow", "b"],
      "'--follow' has the lines of a whole replay: leave it or '--persist' out"
    ),
    (["--json=yes"], "'--json' takes no value"),
    (
      ["--mode", "fast"],
      "'--mode' knows async, sync, serial, lanes, mainThread, structured and all, not 'fast'"
    ),
    (
      ["--repo", ".", "--input", "-"],
      "'--repo' and '--input' both say where the history comes from"
    ),
  ])
  func namesWhatIsWrong(arguments: [String], message: String) {
    #expect(throws: Failure(.usage, "\(message); see 'churn --help'")) {
      try OptionParser.parse(arguments)
    }
  }

  @Test func helpPrintsTheCommandThatSavesALog() {
    #expect(
      Usage.text.contains(
        """
        git -c core.quotePath=false log --reverse --first-parent --diff-merges=first-parent --root \
        --raw --numstat -z --no-renames --no-ext-diff --no-textconv --abbrev=7 \
        '--format=%x00%x01%H%x00%aN <%aE>%x00%ct' HEAD > history.log
        """))
  }
}
