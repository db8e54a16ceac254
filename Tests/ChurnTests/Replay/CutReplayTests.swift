import Dispatch
import DispatchStore
import Testing

@testable import churn

/// A replay that is ended early.
@Suite(.timeLimit(.minutes(10))) struct CutReplayTests {
  /// Other tests occupy the main queue for a while.
  private static let long = Duration.seconds(1_000)
  private static let orderedModes = Mode.allCases.filter(\.keepsOrder)

  /// The plain loop's answers after so many events.
  private func answers(after count: Int, of batches: EventBatches) throws -> Answers {
    var events: [Event] = []
    try batches.forEach { events += $0 }
    var models = Models()
    for event in events.prefix(count) { models.take(event) }
    return Answers(models)
  }

  private func differing(_ result: RunResult, _ expected: Answers, _ mode: Mode) -> [Figure] {
    Answers(result.models).differences(from: expected).map(\.figure)
      .filter { mode.keepsOrder || !$0.dependsOnOrder }
  }

  @Test(arguments: Mode.allCases, [(1, 8), (101, 8), (101, 2), (101, 1000)])
  func hasAllThatWasDispatchedAndNothingElse(mode: Mode, place: (Int, Int)) async throws {
    let batches = try TestLog.contested(commits: 60).batches(capacity: 25)
    let middleware = StopAt(place.0)
    let replay = DispatchedReplay(
      mode: mode, inFlight: place.1, hooks: [Hook(middleware)], drainLimit: Self.long)

    let result = try await onOwnThread { try replay.replay(batches, nil, until: middleware.stop) }

    #expect(result.cut == Cut(signal: Signal(2), dispatched: place.0))
    #expect(result.measurement.actions == place.0)
    #expect(differing(result, try answers(after: place.0, of: batches), mode) == [])
  }

  @Test(arguments: [5, 1000])
  func countsWhatHasNotEndedWhenTheDrainDoes(inFlight: Int) async throws {
    let batches = try TestLog.contested(commits: 60).batches()
    let (middleware, held) = (StopAt(5), HeldUp())
    let replay = DispatchedReplay(
      mode: .serial, inFlight: inFlight, hooks: [Hook(middleware), Hook(held)], drainLimit: .zero)

    let result = try await onOwnThread { try replay.replay(batches, nil, until: middleware.stop) }
    held.end()

    #expect(result.cut == Cut(signal: Signal(2), dispatched: 5, unfinished: 5))
  }

  @Test func isOneAlsoWhereAllWasDispatchedAndHasNotEnded() async throws {
    let batches = try TestLog.small.batches()
    let (middleware, held) = (StopAt(batches.eventCount), HeldUp())
    let replay = DispatchedReplay(
      mode: .serial, hooks: [Hook(middleware), Hook(held)], drainLimit: .zero)

    let result = try await onOwnThread { try replay.replay(batches, nil, until: middleware.stop) }
    held.end()

    #expect(result.cut == Cut(signal: Signal(2), dispatched: 9, unfinished: 9))
  }

  @Test(arguments: Mode.allCases.filter(\.takesSeveralProducers), [8, 2])
  func ofSeveralProducersHasWhatEachHasDispatched(mode: Mode, inFlight: Int) async throws {
    let batches = try TestLog.contested(commits: 60).batches(copies: 3)
    let middleware = StopAt(90)
    let replay = DispatchedReplay(
      mode: mode, inFlight: inFlight, producers: 4, hooks: [Hook(middleware)],
      drainLimit: Self.long)

    let result = try await onOwnThread { try replay.replay(batches, nil, until: middleware.stop) }

    let cut = try #require(result.cut)
    let title = ReplayTitle(mode: mode.rawValue, round: 1, rounds: 1)
    #expect(cut.dispatched >= 90 && cut.dispatched <= 94)
    #expect(CutReplay(title, cut, result.models, of: batches).isWhole)
  }

  @Test(arguments: Mode.allCases) func isNoneWhereTheLastActionWasDispatched(mode: Mode)
    async throws
  {
    let batches = try TestLog.contested(commits: 30).batches(capacity: 10)
    let middleware = StopAt(batches.eventCount)
    let replay = DispatchedReplay(mode: mode, hooks: [Hook(middleware)], drainLimit: Self.long)

    let result = try await onOwnThread { try replay.replay(batches, nil, until: middleware.stop) }

    #expect(middleware.stop.isRequested)
    #expect(result.cut == nil)
    #expect(differing(result, try answers(after: .max, of: batches), mode) == [])
  }

  @Test(arguments: [true, false])
  func beginsNothingOnceItIsRequested(isPlainLoop: Bool) async throws {
    let batches = try TestLog.small.batches()
    let stop = Stop()
    stop.request(Signal(15))
    let replayer: any Replayer =
      isPlainLoop ? PlainLoop() : DispatchedReplay(mode: .serial, drainLimit: Self.long)

    let result = try await onOwnThread { try replayer.replay(batches, nil, until: stop) }

    #expect(result.cut == Cut(signal: Signal(15), dispatched: 0))
    #expect(result.models == Models())
  }

  @Test func thePlainLoopStopsInABatchToo() throws {
    let stop = Stop()
    let batches = try TestLog.contested(commits: 60).batches(capacity: 48) { done, _ in
      if done == 96 { stop.request(Signal(15)) }
    }

    let result = try PlainLoop().replay(batches, nil, until: stop)

    #expect(result.cut == Cut(signal: Signal(15), dispatched: 96))
    #expect(Answers(result.models) == (try answers(after: 96, of: batches)))
  }

  @Test func theFirstSignalCounts() {
    let stop = Stop()
    #expect(stop.signal == nil && !stop.isRequested)
    #expect(stop.request(Signal(15)))
    #expect(!stop.request(Signal(2)))
    #expect(stop.signal == Signal(15))
  }

  @Test(arguments: Mode.allCases, [1000, 2])
  func theFollowedFileHasTheAnswersOfTheCut(mode: Mode, inFlight: Int) async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/answers.jsonl"
    let batches = try TestLog.contested(commits: 60).batches(capacity: 25)
    let middleware = StopAt(77)
    let followed = FollowedReplay(
      ReplayTitle(mode: mode.rawValue, round: 1, rounds: 1), copies: 1,
      to: try FollowedFile(path: path), every: .microseconds(50))

    let result = try await onOwnThread {
      try DispatchedReplay(
        mode: mode, inFlight: inFlight, hooks: [Hook(middleware)], drainLimit: Self.long
      )
      .replay(batches, followed, until: middleware.stop)
    }

    let replay = try #require(try FollowedAnswers(path).replays.last)
    #expect(replay.isComplete && replay.isCut)
    #expect(replay.answers == Answers(result.models))
    #expect(result.cut?.dispatched == 77)
  }
}
