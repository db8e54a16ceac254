import DispatchStore
import Testing

@testable import churn

/// A replay through the dispatcher, compared with the plain loop.
@Suite(.timeLimit(.minutes(10))) struct DispatchedReplayTests {
  /// A way to replay a history.
  struct Way: CustomTestStringConvertible, Sendable {
    let mode: Mode
    let producers: Int
    let inFlight: Int
    let copies: Int

    var testDescription: String {
      "\(mode), producers \(producers), in flight \(inFlight), copies \(copies)"
    }

    var replay: DispatchedReplay {
      DispatchedReplay(mode: mode, inFlight: inFlight, producers: producers)
    }

    static let all = Mode.allCases.flatMap { mode in
      [1, 4].flatMap { producers in
        [1, 1024].flatMap { inFlight in
          [1, 3].map { Way(mode: mode, producers: producers, inFlight: inFlight, copies: $0) }
        }
      }
    }
  }

  @Test(arguments: Way.all)
  func agreesWithThePlainLoopInAllThatItsModePromises(_ way: Way) async throws {
    let batches = try TestLog.contested(commits: 60).batches(copies: way.copies)
    let expected = Answers(try PlainLoop().replay(batches).models)

    let result = try await onOwnThread { try way.replay.replay(batches) }

    let answers = Answers(result.models)
    let differing = answers.differences(from: expected).map(\.figure)
    #expect(differing.filter { way.mode.keepsOrder || !$0.dependsOnOrder } == [])
    if way.mode.keepsOrder {
      #expect(throws: Never.self) { try answers.ofOneCopy(among: way.copies) }
    }
  }

  @Test(arguments: Mode.allCases, [1, 4])
  func measuresAsManyActionsAsThePlainLoop(mode: Mode, producers: Int) async throws {
    let batches = try TestLog.contested(commits: 30).batches(capacity: 50)
    let replay = DispatchedReplay(mode: mode, inFlight: 8, producers: producers)

    let measurement = try await onOwnThread { try replay.replay(batches).measurement }
    let floor = try PlainLoop().replay(batches).measurement

    #expect(measurement.name == mode.rawValue)
    #expect(measurement.producers == (mode.takesSeveralProducers ? producers : 1))
    #expect(measurement.actions == batches.eventCount)
    #expect(measurement.latencies.count == floor.latencies.count)
    #expect(measurement.latencies.quantile(0) > 0)
    #expect(measurement.seconds > 0)
  }

  @Test(arguments: Mode.allCases) func takesInOneBatchAfterTheOther(mode: Mode) async throws {
    let batches = try TestLog.contested(commits: 60).batches(capacity: 7)
    let replay = DispatchedReplay(mode: mode, inFlight: 64, producers: 2)

    let result = try await onOwnThread { try replay.replay(batches) }

    let expected = Answers(try PlainLoop().replay(batches).models)
    let differing = Answers(result.models).differences(from: expected).map(\.figure)
    #expect(differing.filter { mode.keepsOrder || !$0.dependsOnOrder } == [])
  }

  @Test(arguments: Mode.allCases, [1, 2, 7])
  func leavesNoMoreUnfinishedThanMayBe(mode: Mode, inFlight: Int) async throws {
    let batches = try TestLog.contested(commits: 60).batches()
    // In `sync` an action ends before the next is dispatched; in `structured` before its task's next one.
    let crowd = mode == .sync || mode == .structured ? 1 : inFlight
    let counter = CrowdCounter(crowd: crowd)
    let replay = DispatchedReplay(
      mode: mode, inFlight: inFlight, producers: 3, hooks: [Hook(counter)])

    _ = try await onOwnThread { try replay.replay(batches) }

    if mode == .structured {
      #expect(counter.mostUnderWay <= min(3, inFlight))
    } else {
      #expect(counter.mostUnderWay == crowd)
    }
  }

  @Test(arguments: Mode.allCases)
  func aDispatchThatDoesNotSucceedEndsTheRun(mode: Mode) async throws {
    let batches = try TestLog.contested(commits: 20).batches(capacity: 9)
    let replay = DispatchedReplay(
      mode: mode, inFlight: 4, producers: 2, hooks: [Hook(PathVeto(Path("src/b")))])

    let failure = await #expect(throws: Failure.self) {
      try await onOwnThread { try replay.replay(batches) }
    }

    #expect(failure?.code == .software)
    #expect(
      failure?.message
        == "\(mode): the dispatch of a change of 'src/b' did not succeed: "
        + "vetoed: vetoed by PathVeto: not this one")
  }
}
