/// The context of a store run's code in a round, or of hooks and completions outside of an inline run.
final class CodeContext: DispatchContext, @unchecked Sendable {
  // because all of its properties are constants
  private let ofDispatch: Dispatch
  private let ofOwner: StoreRun?
  /// The number of the dispatcher; only for a completion at the deadline.
  private let early: UInt64?
  /// Whether a notifier calls observers here, with a change that was left to it.
  private let isLeft: Bool

  init(
    _ dispatch: Dispatch, owner: StoreRun?, early: EarlyEnd? = nil, isLeft: Bool,
    outer: DispatchContext?
  ) {
    ofDispatch = dispatch
    ofOwner = owner
    self.early = early?.generation?.dispatcher
    self.isLeft = isLeft
    super.init(inside: outer)
  }

  override var isEarly: Bool { early != nil }
  // The record belongs to the thread that still runs its stores, or has ended.
  override var dispatcherUnderWay: UInt64? { early ?? super.dispatcherUnderWay }

  override var dispatch: Dispatch { ofDispatch }
  override var owner: StoreRun? { ofOwner }

  // The owner of a left change goes on without its delivery once the notifier waits, and may have ended.
  override var commitOwner: StoreRun? { isLeft ? nil : ofOwner }
}
