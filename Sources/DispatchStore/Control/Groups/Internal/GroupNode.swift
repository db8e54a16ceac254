/// A step or a group, as an element of a list in which each group is followed by what it contains.
///
/// A list rather than a tree: no operation on groups is recursive, however deep they nest.
struct GroupNode: Sendable {
  enum Kind: Sendable {
    case step(GroupStep)
    case group(ActionGroup.Order, continuesOnFailure: Bool)
  }

  var kind: Kind
  /// How many elements of the list it is, with what it contains.
  let size: Int

  init(_ kind: Kind, size: Int) {
    self.kind = kind
    self.size = size
  }

  var step: GroupStep? {
    if case .step(let step) = kind { step } else { nil }
  }

  var isStep: Bool { step != nil }

  /// How many of its elements may run at once; nil for a step and for a sequence.
  var limit: Int? {
    if case .group(let order, _) = kind { order.limit } else { nil }
  }

  /// Whether it goes on after an element that has not succeeded.
  var continuesOnFailure: Bool {
    if case .group(_, let continues) = kind { continues } else { false }
  }
}

/// What a step dispatches, and what undoes it.
final class GroupStep: Sendable {
  enum Work: Sendable {
    case action(any ActionType)
    case actions([any ActionType])
    case made(@Sendable ([DispatchResult]) throws -> (any ActionType)?)
  }

  let work: Work
  let storeIdentifier: String?
  let mode: Dispatcher.Mode
  let options: DispatchOptions
  let fileID: StaticString
  let line: UInt
  let compensation: GroupStep?
  /// Whether it is undone also where it began and did not finish.
  let isUndoneIfBegun: Bool

  init(
    _ work: Work, to storeIdentifier: String?, _ mode: Dispatcher.Mode, _ options: DispatchOptions,
    fileID: StaticString, line: UInt, compensation: GroupStep? = nil, isUndoneIfBegun: Bool = false
  ) {
    self.work = work
    self.storeIdentifier = storeIdentifier
    self.mode = mode
    self.options = options
    self.fileID = fileID
    self.line = line
    self.compensation = compensation
    self.isUndoneIfBegun = isUndoneIfBegun
  }

  func compensated(by compensation: GroupStep, ifBegun: Bool) -> GroupStep {
    GroupStep(
      work, to: storeIdentifier, mode, options, fileID: fileID, line: line,
      compensation: compensation, isUndoneIfBegun: ifBegun)
  }

  var callSite: CallSite { CallSite(fileID: fileID, line: line) }

  /// What there is to dispatch once an action that has to be made was made.
  enum Made {
    case action(any ActionType)
    case actions([any ActionType])
    /// Nothing, and so the step has ended.
    case none(GroupStepEnd)
  }

  /// Runs code of the program.
  ///
  /// - Parameter results: Of the steps before it.
  func make(from results: () -> [DispatchResult]) -> Made {
    switch work {
    case .action(let action): return .action(action)
    case .actions(let actions): return .actions(actions)
    case .made(let make):
      do {
        return try make(results()).map(Made.action) ?? .none(.nothingToDo)
      } catch {
        return .none(.notMade(error))
      }
    }
  }
}

/// How a step, or a compensation, ended.
enum GroupStepEnd: Sendable {
  case dispatched(DispatchResult)
  /// The closure that makes its action threw.
  case notMade(any Error)
  /// That closure returned no action.
  case nothingToDo

  var result: DispatchResult? {
    if case .dispatched(let result) = self { result } else { nil }
  }

  /// Nil where it finished.
  var error: (any Error)? {
    switch self {
    case .dispatched(let result): result.error
    case .notMade(let error): error
    case .nothingToDo: nil
    }
  }

  /// Whether a store has begun: what it was to do may have happened.
  var hasBegun: Bool {
    result?.stores.contains { store in
      switch store.outcome {
      case .finished, .cancelled(hasStarted: true): true
      case .failed: store.outcome.dispatchError?.code != .dependencyFailed
      case .cancelled(hasStarted: false), .vetoed: false
      }
    } ?? false
  }

  /// Whether the dispatcher has refused it, which accepts nothing any longer.
  var isRefused: Bool { (error as? DispatchError)?.code == .dispatcherClosed }
}
