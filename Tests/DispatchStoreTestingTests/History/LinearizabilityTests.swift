import DispatchStoreTesting
import Testing

@Suite("Histories: linearizability")
struct LinearizabilityTests {
  @Test func theEmptyHistoryIsLinearizable() {
    #expect(RegisterHistory.history().check(against: Register()).isLinearizable)
  }

  @Test(arguments: [true, false])
  func overlappingOperationsMayTakeEffectInEitherOrder(knowsReads: Bool) {
    let register = Register(knowsReads: knowsReads)
    let new = RegisterHistory.history("a w1", "b r", "b 1", "a ok")
    let old = RegisterHistory.history("a w1", "b r", "b 0", "a ok")
    #expect(new.check(against: register).isLinearizable)
    #expect(old.check(against: register).isLinearizable)
  }

  @Test(arguments: [true, false])
  func aReadAfterAWriteHasReturnedSeesIt(knowsReads: Bool) {
    let history = RegisterHistory.history("a w1", "a ok", "b r", "b 0")
    #expect(history.check(against: Register(knowsReads: knowsReads)).witness != nil)
  }

  /// The new-old inversion: one read returns a write that is under way, a later one the value before.
  @Test(arguments: [true, false])
  func whatWasSeenOnceIsNotUnseen(knowsReads: Bool) {
    let history = RegisterHistory.history("a w1", "b r", "b 1", "c r", "c 0", "a ok")
    #expect(history.check(against: Register(knowsReads: knowsReads)).witness != nil)
  }

  /// In the manner of Figure 1 of Herlihy and Wing, 1990.
  @Test func theQueuesOfHerlihyAndWingAreDistinguished() {
    func check(_ body: (QueueHistory) -> Void) -> Bool {
      let recorder = QueueHistory()
      body(recorder)
      return recorder.history.check(against: Queue()).isLinearizable
    }
    #expect(
      check {
        let x = $0.begin(.enqueue("x"), on: "A")
        let y = $0.begin(.enqueue("y"), on: "B")
        x.returned("ok")
        y.returned("ok")
        let first = $0.begin(.dequeue, on: "A")
        let second = $0.begin(.dequeue, on: "B")
        second.returned("x")
        first.returned("y")
      })
    #expect(
      check {
        $0.record(.enqueue("x"), on: "A") { "ok" }
        let y = $0.begin(.enqueue("y"), on: "B")
        $0.record(.dequeue, on: "A") { "x" }
        y.returned("ok")
      })
    #expect(
      !check {
        $0.record(.enqueue("x"), on: "A") { "ok" }
        $0.record(.enqueue("y"), on: "B") { "ok" }
        $0.record(.dequeue, on: "A") { "y" }
      })
    #expect(
      !check {
        let x = $0.begin(.enqueue("x"), on: "A")
        $0.record(.enqueue("y"), on: "B") { "ok" }
        let first = $0.begin(.dequeue, on: "C")
        $0.record(.dequeue, on: "B") { "y" }
        first.returned("y")
        x.returned("ok")
      })
  }

  @Test func noTwoIncrementsGetTheSameCount() {
    let recorder = HistoryRecorder<CounterSpecification.Operation, Int>()
    let calls = ["a", "b"].map { recorder.begin(.increment, on: $0) }
    for call in calls { call.returned(1) }
    #expect(recorder.history.check(against: CounterSpecification()).witness != nil)
  }

  @Test func aPendingOperationMayHaveTakenEffect() {
    let history = RegisterHistory.history("a w1", "b r", "b 0", "b r", "b 1", "b r", "b 1")
    guard case .linearizable(let order) = history.check(against: Register()) else {
      Issue.record("not linearizable")
      return
    }
    #expect(order.map(\.number) == [2, 1, 3, 4])
  }

  @Test func aPendingOperationNeedNotHaveTakenEffect() {
    let history = RegisterHistory.history("a w1", "b r", "b 0", "c r")
    guard case .linearizable(let order) = history.check(against: Register()) else {
      Issue.record("not linearizable")
      return
    }
    #expect(order.map(\.number) == [2])
  }

  @Test func aPendingOperationTakesEffectOnce() {
    let history = RegisterHistory.history(
      "a w1", "b r", "b 1", "b w2", "b ok", "b r", "b 1")
    #expect(history.check(against: Register()).witness != nil)
  }

  @Test func operationsWithEqualStampsOverlap() {
    func check(_ readStamp: Int) -> Bool {
      History<Register.Operation, Register.Response>([
        RecordedOperation(
          process: "b", operation: .read, callStamp: readStamp,
          returned: .init(stamp: 9, response: .value(0))),
        RecordedOperation(
          process: "a", operation: .write(1), callStamp: 1,
          returned: .init(stamp: 5, response: .done)),
      ]).check(against: Register()).isLinearizable
    }
    #expect(check(5))
    #expect(!check(6))
  }

  @Test func aSearchThatTakesTooLongIsGivenUp() {
    let recorder = QueueHistory()
    let calls = (0..<12).map { recorder.begin(.enqueue("\($0)"), on: "\($0)") }
    for call in calls { call.returned("ok") }
    recorder.record(.dequeue, on: "a") { "none of them" }
    guard case .undecided(let steps) = recorder.history.check(against: Queue(), maxSteps: 1000)
    else {
      Issue.record("decided")
      return
    }
    #expect(steps == 1000)
  }

  @Test func ofTwinsOneIsTriedForAll() {
    let recorder = TallyRecorder()
    let calls = (0..<100).map { recorder.begin(.dispatch(.add(1), to: "a"), on: "\($0)") }
    for call in calls { call.returned(.finished) }
    recorder.record(.read("a"), on: "a") { .model(Tally(count: 99)) }
    #expect(recorder.history.check(maxSteps: 1000).witness != nil)
  }

  /// Counts steps, not seconds, so that a slow machine gives the same result.
  @Test(arguments: [true, false])
  func hundredsOfOperationsOfEightProcessesAreDecidedInThousandsOfSteps(knowsReads: Bool) {
    for seed in 0..<3 as Range<UInt64> {
      let register = Register(knowsReads: knowsReads)
      let right = RegisterHistory.history(of: 400, seed: seed)
      let wrong = RegisterHistory.history(of: 400, seed: seed, wrongRead: 300)
      #expect(right.check(against: register, maxSteps: 20_000).isLinearizable)
      #expect(wrong.check(against: register, maxSteps: 100_000).witness != nil)
    }
  }
}
