/// A step or a group, as an element of a list in which each group is followed by its elements.
///
/// A list rather than a tree: no operation on groups is recursive, however deep they nest.
struct GroupNode: Sendable {
  /// Nil for a group.
  var step: GroupStep?
  var undo: GroupStep.Undo?
  /// The number of a group's elements that may run at once; nil for a step and for a sequence.
  var limit: Int?
  /// Whether the group continues after an element that has not succeeded.
  var continuesOnFailure = false
  /// The number of list elements that it takes, with nested ones.
  let size: Int

  var isStep: Bool { step != nil }
}

/// The work that a step dispatches.
final class GroupStep: Sendable {
  /// Makes what is dispatched, if need be of the results of the steps before it; nil if there is nothing to do.
  typealias Work = @Sendable (_ results: () -> [DispatchResult]) throws -> Ready?

  private let work: Work
  let storeIdentifier: String?
  let mode: Dispatcher.SendMode
  let options: DispatchOptions
  let callSite: CallSite

  /// The compensation of a step, and whether it also follows if the step began and did not finish.
  typealias Undo = (compensation: GroupStep, ifBegun: Bool)

  init(
    _ work: @escaping Work, to storeIdentifier: String?, _ mode: Dispatcher.SendMode,
    _ options: DispatchOptions, _ callSite: CallSite
  ) {
    self.work = work
    self.storeIdentifier = storeIdentifier
    self.mode = mode
    self.options = options.ofStep
    self.callSite = callSite
  }

  /// The work to dispatch, once the program's code has made it.
  enum Made {
    case ready(Ready)
    /// There is nothing to dispatch, and so the step has ended.
    case none(GroupStepEnd)
  }

  /// Work that can be dispatched.
  enum Ready: Sendable {
    case action(any ActionType)
    case actions([any ActionType])
  }

  /// Makes the work; runs code of the program.
  ///
  /// - Parameter results: The results of the steps before it.
  func make(from results: () -> [DispatchResult]) -> Made {
    do {
      return try work(results).map(Made.ready) ?? .none(GroupStepEnd(withoutDispatch: nil))
    } catch {
      return .none(GroupStepEnd(withoutDispatch: error))
    }
  }
}

/// The end of a step, or of a compensation.
struct GroupStepEnd: Sendable {
  /// The result of its dispatch; nil if there was none.
  let result: DispatchResult?
  /// That of its stores, which may have ended after a deadline of the dispatch.
  private let resultOfStores: DispatchResult?
  /// The error, or nil if the step finished.
  let error: (any Error)?

  init(_ result: DispatchResult, ofStores resultOfStores: DispatchResult? = nil) {
    (self.result, self.resultOfStores) = (result, resultOfStores ?? result)
    error = result.error
  }

  /// Makes the end of a step without a dispatch: the closure that makes its action threw, or there was nothing to do.
  init(withoutDispatch error: (any Error)?) {
    (result, resultOfStores, self.error) = (nil, nil, error)
  }

  /// Whether a store has begun: its effect may have happened.
  var hasBegun: Bool { resultOfStores?.hasStarted == true }

  /// Whether the dispatcher has refused the step, since it accepts nothing any longer.
  ///
  /// A step that has begun, or was not made, may have failed with the refusal of another dispatcher.
  var isRefused: Bool {
    guard let result, !result.hasStarted else { return false }
    return (result.error as? DispatchError)?.code == .dispatcherClosed
  }
}
