import Foundation
import Testing

@testable import churn

/// What signals do, each in a process of its own: raised in mid-replay, on the thread that shows its progress.
@Suite(.timeLimit(.minutes(10))) struct InterruptionTests {
  /// Raises a signal so many times when a text is written, and removes a folder before, since that may be the end.
  private struct Raising: TextOutput {
    let isTerminal = true
    let number: Int32
    var times = 1
    let shown: String
    var folder = ""

    func write(_ text: String) {
      guard text.contains(shown) else { return }
      try? FileManager.default.removeItem(atPath: folder)
      for _ in 1...times { raise(number) }
    }
  }

  private static func run(_ messages: Raising) async throws -> Never {
    Interruption.install()
    let folder = try TemporaryFolder()
    let log = try folder.write(TestLog.contested(commits: 300).bytes, to: "log")
    var messages = messages
    // The program has the log open when it shows that it reads it.
    messages.folder = folder.path
    let program = Program(
      arguments: ["--input", log, "--copies", "8", "--mode", "lanes", "--rounds", "1"],
      environment: [:], directory: folder.path, temporaryDirectory: folder.path,
      output: StandardOutput.output, messages: messages, stop: Interruption.stop)
    let code = await onOwnThread {
      // The pool's threads block signals, and a thread inherits that.
      var none = sigset_t()
      sigemptyset(&none)
      pthread_sigmask(SIG_SETMASK, &none, nil)
      return program.run()
    }
    exit(code.rawValue)
  }

  private func report(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
  }

  @Test func anInterruptInMidReplayDrainsAndPrintsWhatWasDone() async {
    let result = await #expect(
      processExitsWith: .exitCode(130), observing: [\.standardOutputContent]
    ) {
      try await Self.run(Raising(number: SIGINT, shown: "replaying: lanes"))
    }
    #expect(report(result).contains("Cut by SIGINT\n  lanes: "))
    #expect(report(result).contains("; all that was dispatched has ended\n"))
  }

  @Test func soDoesATermination() async {
    let result = await #expect(
      processExitsWith: .exitCode(143), observing: [\.standardOutputContent]
    ) {
      try await Self.run(Raising(number: SIGTERM, shown: "replaying: lanes"))
    }
    #expect(report(result).contains("Cut by SIGTERM\n  lanes: "))
  }

  /// As `timeout` sends it.
  @Test func aRepeatedTerminationChangesNothing() async {
    let result = await #expect(
      processExitsWith: .exitCode(143), observing: [\.standardOutputContent]
    ) {
      try await Self.run(Raising(number: SIGTERM, times: 2, shown: "replaying: lanes"))
    }
    #expect(report(result).contains("Cut by SIGTERM\n  lanes: "))
  }

  @Test func theSecondOneEndsTheProgramAtOnce() async {
    let result = await #expect(
      processExitsWith: .signal(SIGINT), observing: [\.standardOutputContent]
    ) {
      try await Self.run(Raising(number: SIGINT, times: 2, shown: "replaying: lanes"))
    }
    #expect(!report(result).contains("Cut by"))
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func oneWhileTheLogIsReadEndsTheProgramAtOnce(number: Int32) async {
    await #expect(processExitsWith: .signal(number)) { [number] in
      try await Self.run(Raising(number: number, shown: "reading "))
    }
  }

  @Test func aHangUpEndsTheProgramAtOnce() async {
    await #expect(processExitsWith: .signal(SIGHUP)) {
      try await Self.run(Raising(number: SIGHUP, shown: "replaying: lanes"))
    }
  }

  @Test func aSignalThatWasIgnoredAtTheStartStaysIgnored() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardOutputContent]
    ) {
      signal(SIGINT, SIG_IGN)
      try await Self.run(Raising(number: SIGINT, shown: "replaying: lanes"))
    }
    #expect(report(result).contains("Modes"))
    #expect(!report(result).contains("Cut by"))
  }
}
