import Testing

@testable import DispatchStore

/// What a stream keeps, and who waits for what, without threads.
struct StreamStateTests {
  typealias State = StreamState<Int, String, String>

  /// A stream whose consumer has asked once.
  private func begun(_ policy: StreamBuffering) -> State {
    var state = State(policy)
    _ = state.next()
    return state
  }

  private func filled(
    _ policy: StreamBuffering, _ elements: ClosedRange<Int>
  ) -> (state: State, kept: [Bool]) {
    var state = begun(policy)
    let kept = elements.map { element in state.push(element) { "\(element)" }.isKept }
    return (state, kept)
  }

  private func drain(_ state: inout State) -> [Int] {
    var elements: [Int] = []
    while case .element(let element, _) = state.next() { elements.append(element) }
    return elements
  }

  private func suspends(_ state: inout State, _ waiter: String) -> Bool {
    state.suspend(waiter).isSuspended
  }

  private func watches(_ state: inout State, _ catchUp: CatchUp = CatchUp(with: [])) -> Bool {
    state.watch(catchUp)
  }

  @Test func anUnboundedStreamKeepsAllInOrder() {
    var (state, kept) = filled(.unbounded, 1...100)
    #expect(kept.allSatisfy { $0 })
    #expect(drain(&state) == Array(1...100))
  }

  @Test func theNewestElementsReplaceOlderOnesWhichAreReleasedLater() {
    var (state, kept) = filled(.newest(2), 1...5)
    #expect(kept.allSatisfy { $0 })
    #expect(state.wake().dropped == [1, 2, 3])
    #expect(state.wake().dropped.isEmpty)
    #expect(drain(&state) == [4, 5])
  }

  @Test func theOldestElementsStayAndTheOthersAreNotKept() {
    var (state, kept) = filled(.oldest(2), 1...4)
    #expect(kept == [true, true, false, false])
    #expect(drain(&state) == [1, 2])
    #expect(state.push(5) { nil }.isKept)
  }

  @Test func aProducerBeyondTheBoundWaitsUntilItsElementIsWithin() {
    var (state, _) = filled(.suspending(2), 1...4)
    guard case .element(1, "3") = state.next() else { return #expect(Bool(false)) }
    guard case .element(2, "4") = state.next() else { return #expect(Bool(false)) }
    guard case .element(3, nil) = state.next() else { return #expect(Bool(false)) }
    #expect(state.push(5) { "5" }.isKept)
    guard case .element(4, nil) = state.next() else { return #expect(Bool(false)) }
  }

  @Test func aWaitThatBeginsAfterTheConsumerHasAskedEndsWhenItSuspends() {
    var state = begun(.suspending(1))
    let watch = CatchUp(with: [])
    #expect(watches(&state, watch))
    #expect(state.suspend("consumer").caughtUp.map { $0 === watch } == [true])
    #expect(!watches(&state), "It waits for an element.")
  }

  @Test func anElementThatIsTakenBackIsNotDeliveredUntilItIsKeptAgain() {
    var (state, _) = filled(.unbounded, 1...1)
    #expect(state.takeBack() == 1 && state.takeBack() == nil)
    #expect(suspends(&state, "consumer"))
    #expect(state.wake().waiter == nil)
    #expect(state.push(2) { nil }.isDue)
    #expect(state.wake().waiter == "consumer")
    #expect(drain(&state) == [2])
  }

  @Test func aProducerThatCannotWaitIsPassedOver() {
    var state = begun(.suspending(0))
    _ = state.push(1) { nil }
    _ = state.push(2) { "2" }
    guard case .element(1, nil) = state.next() else { return #expect(Bool(false)) }
    guard case .element(2, "2") = state.next() else { return #expect(Bool(false)) }
  }

  @Test func noProducerWaitsWhileTheConsumerDoes() {
    var (state, _) = filled(.suspending(1), 1...3)
    #expect(state.consumerBeginsToWait() == ["2", "3"])
    #expect(state.consumerBeginsToWait() == [], "A second wait within the first.")
    _ = state.push(4) { "4" }
    state.consumerHasWaited()
    _ = state.push(5) { "5" }
    state.consumerHasWaited()
    _ = state.push(6) { "6" }
    #expect(state.release().holds == ["6"])
  }

  @Test(.timeLimit(.minutes(1)))
  func aWaitOfTheConsumerTakesAsLongHoweverManyElementsAreKept() {
    var state = State(.suspending(0))
    for element in 1...100_000 { _ = state.push(element) { nil } }
    var released: [String] = []
    for _ in 1...100_000 {
      _ = state.next()
      released += state.consumerBeginsToWait()
      state.consumerHasWaited()
    }
    #expect(released.isEmpty)
  }

  @Test func theConsumerSuspendsOnlyWhereNothingHasComeAndIsResumedOnce() {
    var state = State(.unbounded)
    guard case .none = state.next() else { return #expect(Bool(false)) }
    #expect(!state.push(1) { nil }.isDue, "It looks once more.")
    #expect(!suspends(&state, "consumer"))
    #expect(drain(&state) == [1])
    #expect(suspends(&state, "consumer"))
    #expect(state.push(2) { nil }.isDue)
    #expect(state.push(3) { nil }.isDue)
    #expect(state.wake().waiter == "consumer")
    #expect(state.wake().waiter == nil)
    #expect(drain(&state) == [2, 3])
  }

  @Test func aLateWakeDoesNotResumeAConsumerThatHasNothingToTake() {
    var state = State(.unbounded)
    #expect(suspends(&state, "first"))
    #expect(state.push(1) { nil }.isDue)
    #expect(state.push(2) { nil }.isDue)
    #expect(state.wake().waiter == "first")
    #expect(drain(&state) == [1, 2])
    #expect(suspends(&state, "second"))
    #expect(state.wake().waiter == nil)
    state.end()
    #expect(state.wake().waiter == "second")
  }

  @Test func whatWasKeptCanBeTakenOnceTheStoreHasGone() {
    var (state, _) = filled(.unbounded, 1...2)
    state.end()
    #expect(state.wake().waiter == nil)
    #expect(!state.push(3) { nil }.isKept)
    #expect(drain(&state) == [1, 2])
    guard case .end = state.next() else { return #expect(Bool(false)) }
    #expect(!suspends(&state, "consumer"))
  }

  @Test func theLastElementComesInThePlaceOfOneThatWasNotTaken() {
    var (state, _) = filled(.newest(1), 1...1)
    state.replaceKept(by: 2)
    state.end()
    #expect(state.wake().dropped == [1])
    #expect(drain(&state) == [2])
    state = begun(.newest(1))
    state.replaceKept(by: 3)
    #expect(drain(&state) == [3])
  }

  @Test func aClosedStreamReturnsWhatItKeptAndTakesNothing() {
    var (state, _) = filled(.suspending(1), 1...2)
    #expect(state.close() == nil)
    guard case .end = state.next() else { return #expect(Bool(false)) }
    var released = state.release()
    let first = released.elements.popFirst()
    #expect(first == 1)
    #expect(released.holds == ["2"])
    #expect(!state.push(3) { "3" }.isKept)
    #expect(state.release().holds.isEmpty)
    state.end()
    guard case .end = state.next() else { return #expect(Bool(false)) }
  }

  @Test func closingResumesTheConsumer() {
    var state = State(.unbounded)
    #expect(suspends(&state, "consumer"))
    #expect(state.close() == "consumer")
    #expect(!suspends(&state, "consumer"))
  }

  @Test func beforeTheFirstNextNoProducerWaits() {
    var state = State(.suspending(0))
    for element in 1...2 { #expect(state.push(element) { "\(element)" }.isKept) }
    guard case .element(1, nil) = state.next() else { return #expect(Bool(false)) }
    #expect(state.push(3) { "3" }.isKept)
    guard case .element(2, nil) = state.next() else { return #expect(Bool(false)) }
    guard case .element(3, "3") = state.next() else { return #expect(Bool(false)) }
  }

  @Test func theConsumerHasCaughtUpWhenItAsksForMoreThanWasKept() {
    var (state, _) = filled(.unbounded, 1...2)
    let catchUp = CatchUp(with: [])
    #expect(watches(&state, catchUp))
    _ = state.push(3) { nil }
    for _ in 1...2 {
      #expect(state.takeCaughtUp().isEmpty)
      _ = state.next()
    }
    #expect(state.takeCaughtUp().count == 1)
    #expect(state.takeCaughtUp().isEmpty)
  }

  @Test func aConsumerHasNotCaughtUpWhileAnElementIsMerged() {
    var (state, _) = filled(.unbounded, 1...1)
    #expect(watches(&state))
    #expect(state.takeBack() == 1)
    #expect(watches(&state))
    #expect(state.takeCaughtUp().isEmpty, "It asks for more.")
    #expect(state.suspend("consumer").caughtUp.isEmpty)
    #expect(state.push(2) { nil }.isDue)
    #expect(state.wake().waiter == "consumer")
    #expect(state.takeCaughtUp().isEmpty)
    #expect(drain(&state) == [2])
    #expect(state.takeCaughtUp().count == 2)
  }

  @Test func aConsumerHasCaughtUpWithAnElementThatIsMergedAway() {
    var (state, _) = filled(.unbounded, 1...1)
    #expect(watches(&state))
    #expect(state.takeBack() == 1)
    var wakes = state.mergedAway()
    #expect(!wakes)
    #expect(state.takeCaughtUp().count == 1, "It asks for more.")
    _ = state.push(2) { nil }
    #expect(watches(&state))
    #expect(state.takeBack() == 2)
    #expect(suspends(&state, "consumer"))
    wakes = state.mergedAway()
    #expect(wakes, "It has asked before.")
    let (waiter, _, caughtUp) = state.wake()
    #expect(waiter == nil && caughtUp.count == 1)
    #expect(!watches(&state))
  }

  @Test func aConsumerThatWaitsHasCaughtUpAndSoHasOneThatIsGone() {
    var state = State(.unbounded)
    #expect(suspends(&state, "consumer"))
    #expect(!watches(&state))
    _ = state.push(1) { nil }
    #expect(watches(&state))
    _ = state.close()
    #expect(state.takeCaughtUp().count == 1)
    #expect(!watches(&state))
  }
}
