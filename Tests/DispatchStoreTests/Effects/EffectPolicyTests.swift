import Testing

@testable import DispatchStore

@Suite("Policies of effects", .timeLimit(.minutes(10)))
struct EffectPolicyTests {
  let dispatcher = Dispatcher()
  let log = Recorder<String>()
  let latches = (0..<4).map { _ in Latch() }

  /// Its runs wait for the latch of their number.
  private func register(_ policy: EffectPolicy, isKeyed: Bool = false) {
    let (log, latches) = (log, latches)
    let body: @Sendable (Cue, EffectContext) async throws -> Void = { cue, _ in
      log.record("+\(cue.number)")
      do {
        try await waits(for: latches[cue.number])
        log.record("-\(cue.number)")
      } catch {
        log.record("x\(cue.number)")
      }
    }
    dispatcher.register(
      effect: isKeyed
        ? Effect(Cue.self, policy: policy, per: { SameHash($0.number % 2) }, body)
        : Effect(Cue.self, policy: policy, body))
  }

  /// Keys that only their code distinguishes.
  private struct SameHash: Hashable {
    let value: Int
    init(_ value: Int) { self.value = value }
    func hash(into hasher: inout Hasher) {}
  }

  private func dispatch(_ number: Int) -> DispatchHandle {
    dispatcher.dispatch(action: Cue(number: number), mode: .sync)
  }

  /// In the diagnosis, and in the report of a drain that gives up.
  @Test func runsThatGoOnAreNamedWithTheNumberOfThoseThatWait() async {
    register(.serial)
    dispatcher.tracksInFlight = true
    let handles = [dispatch(0), dispatch(1), dispatch(2)]
    _ = await log.first(1)
    let texts = [
      dispatcher.diagnosis().description, await dispatcher.drain(timeout: .zero).description,
    ]
    for text in texts {
      #expect(text.contains("The effect on Cue ("), "\(text)")
      #expect(text.contains("): 1 run, 2 waiting"), "\(text)")
    }
    for latch in latches { latch.open() }
    for handle in handles { await handle.settled() }
    let ended = dispatcher.diagnosis().description
    #expect(!ended.contains("effect"), "\(ended)")
  }

  @Test func concurrentRunsBesideTheOthers() async {
    register(.concurrent)
    let handles = [dispatch(0), dispatch(1)]
    #expect(await log.first(2).sorted() == ["+0", "+1"])
    latches[1].open()
    await handles[1].settled()
    latches[0].open()
    await handles[0].settled()
    #expect(log.all.suffix(2) == ["-1", "-0"])
  }

  @Test func latestCancelsTheFormerRun() async {
    register(.latest)
    let former = dispatch(0)
    _ = await log.first(1)
    let latest = dispatch(1)
    await former.settled()
    #expect(log.all.contains("x0") && !log.all.contains("-1"))
    latches[1].open()
    await latest.settled()
    #expect(log.all.last == "-1")
  }

  /// However many of them have not ended yet.
  @Test func latestCancelsEachRunOnce() {
    final class Run {}
    var (line, cancelled) = (EffectLine<Run>(), [ObjectIdentifier]())
    let runs = (0..<1_000).map { _ in Run() }
    for (number, run) in runs.enumerated() {
      if case .begin(let former?) = line.arrive(run, .latest) {
        cancelled.append(ObjectIdentifier(former))
      }
      // One that ends on its own is not cancelled.
      if number == 500 { _ = line.ended(run) }
    }
    let others = runs.indices.filter { $0 != 500 && $0 != 999 }
    #expect(cancelled == others.map { ObjectIdentifier(runs[$0]) })
  }

  @Test func unlessRunningSkipsTheLater() async {
    register(.unlessRunning)
    let first = dispatch(0)
    await dispatch(1).settled()
    latches[0].open()
    await first.settled()
    latches[2].open()
    await dispatch(2).settled()
    #expect(log.all == ["+0", "-0", "+2", "-2"])
  }

  @Test func serialRunsOneAfterTheOther() async {
    register(.serial)
    let handles = (0..<3).map(dispatch)
    for latch in latches.reversed() { latch.open() }
    for handle in handles { await handle.settled() }
    #expect(log.all == ["+0", "-0", "+1", "-1", "+2", "-2"])
  }

  @Test func holdsAmongActionsOfOneKey() async {
    register(.unlessRunning, isKeyed: true)
    let (even, odd) = (dispatch(0), dispatch(1))
    await dispatch(2).settled()
    await dispatch(3).settled()
    #expect(await log.first(2).sorted() == ["+0", "+1"])
    latches[0].open()
    await even.settled()
    latches[2].open()
    await dispatch(2).settled()
    latches[1].open()
    await odd.settled()
    #expect(log.all.sorted() == ["+0", "+1", "+2", "-0", "-1", "-2"])
  }

  @Test func aRunThatWaitsForItsTurnIsCancelledWithItsCause() async {
    register(.serial)
    let handles = (0..<3).map(dispatch)
    handles[1].cancelWithEffects()
    await handles[1].settled()
    for latch in latches { latch.open() }
    for handle in handles { await handle.settled() }
    #expect(log.all == ["+0", "-0", "+2", "-2"])
  }

  /// In each order of many threads, runs of one key do not overlap, and each has begun or was skipped.
  @Test(arguments: [EffectPolicy.serial, .unlessRunning])
  func holdsWhereManyThreadsDispatch(_ policy: EffectPolicy) async {
    let counts = Recorder<(key: Int, change: Int)>()
    dispatcher.register(
      effect: Effect(Cue.self, policy: policy, per: { $0.number % 3 }) { cue, _ in
        counts.record((cue.number % 3, 1))
        await Task.yield()
        counts.record((cue.number % 3, -1))
      })
    await withDiscardingTaskGroup { group in
      for producer in 0..<4 {
        group.addTask {
          for index in 0..<100 {
            let mode = Dispatcher.Mode.everyMode[(producer + index) % 5]
            await dispatcher.dispatch(action: Cue(number: index), mode: mode).settled()
          }
        }
      }
    }
    var present = [0, 0, 0]
    for (key, change) in counts.all {
      present[key] += change
      #expect((0...1).contains(present[key]))
    }
    #expect(present == [0, 0, 0])
    if policy == .serial { #expect(counts.count == 800) }
  }
}

@Suite("Lines of an effect's runs, without threads")
struct EffectLineTests {
  final class Run {}
  let runs = (0..<4).map { _ in Run() }

  @Test func aConcurrentOneBeginsEach() {
    var line = EffectLine<Run>()
    for run in runs {
      guard case .begin(let former) = line.arrive(run, .concurrent) else {
        Issue.record("It waits.")
        continue
      }
      #expect(former == nil)
    }
    #expect(line.runCount == 4)
    for run in runs.reversed() {
      let next = line.ended(run)
      #expect(next == nil)
    }
    #expect(line.isEmpty)
  }

  @Test func aSerialOneBeginsTheNextWithTheEndOfTheOneBefore() {
    var line = EffectLine<Run>(bound: 1)
    _ = line.arrive(runs[0], .serial)
    for run in runs[1...] {
      guard case .wait = line.arrive(run, .serial) else {
        Issue.record("It begins.")
        continue
      }
    }
    let notBegun = line.ended(runs[2])
    #expect(notBegun == nil)
    let next = line.ended(runs[0])
    #expect(next === runs[1])
    let waiting = line.takeWaiting()
    #expect(waiting.map(ObjectIdentifier.init) == [ObjectIdentifier(runs[3])])
    let last = line.ended(runs[1])
    #expect(last == nil && line.isEmpty)
  }

  @Test func aRunThatPausesHandsOnItsTurnAndWaitsForAnotherOne() {
    var line = EffectLine<Run>(bound: 1)
    for run in runs[0...1] { _ = line.arrive(run, .concurrent) }
    let next = line.pause(runs[0])
    #expect(next === runs[1] && line.runCount == 2)
    let begins = [line.endPause(runs[0]), line.endPause(runs[0])]
    #expect(begins == [false, false], "The first one waits, and the second one does not pause.")
    let again = line.ended(runs[1])
    #expect(again === runs[0])
    let (none, beginsAtOnce) = (line.pause(runs[0]), line.endPause(runs[0]))
    #expect(none == nil && beginsAtOnce)
    _ = line.pause(runs[0])
    let last = line.ended(runs[0])
    #expect(last == nil && line.isEmpty, "It was cancelled in its pause.")
    let late = line.pause(runs[0])
    #expect(late == nil && line.isEmpty, "It has ended before.")
  }

  @Test func aCancelledRunGetsNoTurn() {
    var line = EffectLine<Run>(bound: 2)
    for run in runs { _ = line.arrive(run, .concurrent) }
    let none = line.ended(runs[2])
    let next = line.ended(runs[0])
    #expect(none == nil && next === runs[3])
    // Cancelled after it has got its turn, and before it begins.
    _ = line.arrive(runs[2], .concurrent)
    let handedOn = [line.ended(runs[3]), line.ended(runs[3])]
    #expect(handedOn[0] === runs[2] && handedOn[1] == nil)
  }

  @Test func aLongLivedOneRunsOnce() {
    var line = EffectLine<Run>(bound: 1)
    let starts = runs[..<3].map { line.restart($0) }
    guard case .begin = starts[0].0, case .wait = starts[1].0, case .wait = starts[2].0 else {
      Issue.record("They do not begin in turn.")
      return
    }
    #expect(starts[1].former.map(ObjectIdentifier.init) == [ObjectIdentifier(runs[0])])
    let formerOfThird = starts[2].former.map(ObjectIdentifier.init)
    #expect(formerOfThird == [runs[1], runs[0]].map(ObjectIdentifier.init))
    let (gone, next) = (line.ended(runs[1]), line.ended(runs[0]))
    #expect(gone == nil && next === runs[2], "Another restart has replaced the one that waited.")
    #expect(line.runCount == 1)
    let cancelled = line.takeAll()
    let last = line.ended(runs[2])
    #expect(cancelled.first === runs[2] && cancelled.count == 1)
    #expect(last == nil && line.isEmpty)
  }
}
