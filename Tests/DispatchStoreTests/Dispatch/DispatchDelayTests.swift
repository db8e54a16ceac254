import Testing

@testable import DispatchStore

@Suite("A dispatch that begins later")
struct DispatchDelayTests {
  private static let error = DispatchError(code: .skipped, message: "skipped")

  private func delayed(inSection: Bool = false) -> DispatchState {
    var state = DispatchState(isRunning: false)
    if inSection { state.awaitAcceptance() }
    state.beginDelay()
    _ = state.delayIsArranged()
    return state
  }

  /// Whether it ends now, and was delayed.
  private func ends(_ cancel: DispatchState.Cancel) -> Bool? {
    if case .end(wasParked: false, let wasDelayed) = cancel { wasDelayed } else { nil }
  }

  @Test func endsAtOnceWhereItIsCancelledOrSkipped() {
    var cancelled = delayed()
    #expect(cancelled.isDelayed && cancelled.isWaiting && cancelled.isDroppable)
    #expect(ends(cancelled.cancel()) == true)
    let begins = cancelled.endDelay(isUnaccepted: true)
    #expect(!begins && !cancelled.isDelayed)
    var skipped = delayed()
    #expect(ends(skipped.skip(Self.error)) == true)
    #expect(skipped.refusal?.code == .skipped)
    #expect(ends(skipped.skip(Self.error)) == nil)
  }

  @Test(arguments: [true, false])
  func endsOnceItsDelayIsArrangedIfItIsCancelledOrSkippedBefore(isCancelled: Bool) {
    var state = DispatchState(isRunning: false)
    state.beginDelay()
    #expect(ends(isCancelled ? state.cancel() : state.skip(Self.error)) == nil, "It is noted.")
    #expect(state.isDelayed)
    #expect(ends(state.delayIsArranged()) == true)
    #expect(ends(state.delayIsArranged()) == nil)
    #expect(state.refusal?.code == (isCancelled ? nil : .skipped))
  }

  @Test(arguments: [false, true])
  func endsOnceItIsTakenToItsStoresIfItIsCancelledOrDroppedMeanwhile(isCancelled: Bool) {
    var state = delayed()
    let begins = state.endDelay(isUnaccepted: true)
    #expect(begins && !state.isDelayed && state.isDroppable)
    #expect(ends(isCancelled ? state.cancel() : state.skip(Self.error)) == nil, "It is noted.")
    #expect(!state.isDroppable)
    #expect(ends(state.endAcceptance(refusing: nil)) == false)
    #expect(state.refusal?.code == (isCancelled ? nil : .skipped))
  }

  @Test func waitsAsOthersOnceItHasBegunInItsTask() {
    var state = delayed()
    state.wait(for: [Dispatch()])
    let begins = state.endDelay(isUnaccepted: false)
    #expect(begins && state.before.count == 1)
    #expect(ends(state.cancel()) == false)
  }

  @Test func inASectionWhatComesMeanwhileTakesEffectWhenThatIsLeft() {
    var cancelled = delayed(inSection: true)
    #expect(ends(cancelled.cancel()) == nil)
    #expect(ends(cancelled.endAcceptance(refusing: nil)) == true)
    var skipped = delayed(inSection: true)
    #expect(ends(skipped.skip(Self.error)) == nil)
    #expect(ends(skipped.endAcceptance(refusing: nil)) == true)
    #expect(skipped.refusal?.code == .skipped)
    var plain = delayed(inSection: true)
    #expect(ends(plain.endAcceptance(refusing: nil)) == nil)
    #expect(plain.isDelayed)
  }

  @Test func aDelayCallsItsClosureOnceWhicheverComesFirst() {
    let calls = Recorder<Int>()
    let before = DispatchDelay(of: Dispatch(), in: .async)
    before.end()
    before.whenEnded { calls.record(1) }
    before.end()
    #expect(calls.all == [1] && before.hasEnded)
    let after = DispatchDelay(of: Dispatch(), in: .async)
    after.whenEnded { calls.record(2) }
    after.end()
    after.drop()
    #expect(calls.all == [1, 2])
    let dropped = DispatchDelay(of: Dispatch(), in: .async)
    dropped.drop()
    dropped.whenEnded { calls.record(3) }
    dropped.end()
    #expect(calls.count == 2 && !dropped.hasEnded)
  }
}
