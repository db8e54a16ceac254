/// The outcome of an operation or a store run.
///
/// Later versions may add cases.
@nonexhaustive
public enum StoreOutcome: Sendable {
  /// The operation finished: the only success.
  case finished
  /// The operation failed with this error, or the dispatcher could not run it (`DispatchError`).
  case failed(any Error)
  /// The operation was cancelled: before its start, so that its block never ran, or by a block that threw
  /// `CancellationError`.
  case cancelled(hasStarted: Bool)
  /// A middleware vetoed the action for this store.
  case vetoed(Veto)
  /// The store took no part in the dispatch: it does not respond to the action, or was not addressed.
  case notInvolved

  /// Whether the operation finished.
  public var isFinished: Bool {
    if case .finished = self { true } else { false }
  }

  /// Whether the operation failed.
  public var isFailed: Bool {
    if case .failed = self { true } else { false }
  }

  /// Whether the operation was cancelled.
  public var isCancelled: Bool {
    if case .cancelled = self { true } else { false }
  }

  /// The veto, if a middleware vetoed.
  public var veto: Veto? {
    if case .vetoed(let veto) = self { veto } else { nil }
  }

  /// The error that a throwing method throws for this outcome, or nil for `finished` and `notInvolved`.
  public var error: (any Error)? {
    switch self {
    case .finished, .notInvolved: nil
    case .failed(let error): error
    case .cancelled: CancellationError()
    case .vetoed(let veto): DispatchError(code: .vetoed, message: veto.description)
    }
  }

  /// The error, if it is a `DispatchError`.
  ///
  /// Nil for `CancellationError` and for the program's own errors.
  public var dispatchError: DispatchError? { error as? DispatchError }

  /// Whether the store may have read or changed something.
  var mayHaveStarted: Bool {
    switch self {
    case .finished, .failed, .cancelled(hasStarted: true): true
    case .cancelled, .vetoed, .notInvolved: false
    }
  }

  @usableFromInline
  init(thrown error: any Error) {
    self = error is CancellationError ? .cancelled(hasStarted: true) : .failed(error)
  }
}

extension StoreOutcome: CustomStringConvertible {
  /// A short form for logs.
  public var description: String {
    switch self {
    case .finished: "finished"
    case .failed(let error): "failed: \(error)"
    case .cancelled: "cancelled"
    case .vetoed(let veto): "\(veto)"
    case .notInvolved: "not involved"
    }
  }
}

/// A middleware's refusal to let an action reach a store.
public struct Veto: Sendable, CustomStringConvertible {
  /// The middleware that refused.
  public let middleware: any Middleware
  /// The reason that it gave.
  public let reason: String

  /// The middleware's type and its reason.
  public var description: String {
    "vetoed by \(type(of: middleware))" + (reason.isEmpty ? "" : ": \(reason)")
  }
}
