import Testing

@testable import churn

/// The replayers that a command line selects.
@Suite(.timeLimit(.minutes(10))) struct ReplayersTests {
  private func options(_ arguments: String...) throws -> Options {
    try OptionParser.parse(arguments)
  }

  @Test func thePlainLoopComesFirstAndThenEveryMode() throws {
    let replayers = try Replayers.all(for: try options())

    #expect(replayers.map(\.name) == ["plainLoop"] + Mode.allCases.map(\.rawValue))
    #expect(replayers.map(\.keepsOrder) == [true, false, true, true, true, true, true])
  }

  @Test func aSingleModeIsComparedWithThePlainLoop() throws {
    #expect(
      try Replayers.all(for: options("--mode", "lanes")).map(\.name) == ["plainLoop", "lanes"])
  }

  @Test func everyReplayUsesTheOptions() async throws {
    let batches = try TestLog.small.batches()
    let replayers = try Replayers.all(for: try options("--producers", "3", "--in-flight", "7"))

    for replayer in replayers.dropFirst() {
      let replay = try #require(replayer as? DispatchedReplay)
      #expect(replay.inFlight == 7)
      let measurement = try await onOwnThread { try replay.replay(batches).measurement }
      #expect(measurement.producers == (replay.mode.takesSeveralProducers ? 3 : 1))
    }
  }
}
