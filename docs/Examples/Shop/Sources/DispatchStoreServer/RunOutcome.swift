import DispatchStore

/// An error of your handlers that is an answer, such as "sold out": for logs, metrics and spans it is no failure.
///
///     struct SoldOut: AnswerError {}
public protocol AnswerError: Error {}

/// How a dispatch, or a store's part in it, has ended: the word that logs, metrics and spans use.
enum RunOutcome: String, Hashable, Sendable {
  case finished
  /// A handler threw an `AnswerError`, or the store was not run or was undone because of one.
  case answered
  /// A handler threw, or the library ended the run because of a mistake or a failure.
  case failed
  case cancelled
  case timedOut
  case vetoed
  /// A limit, a breaker, a key or a dispatcher that is closed or paused refused it: this protects the service, and is no failure.
  case refused

  init(_ outcome: StoreOutcome) {
    switch outcome {
    case .finished, .notInvolved: self = .finished
    case .cancelled: self = .cancelled
    case .vetoed: self = .vetoed
    case .failed(let error): self.init(error)
    @unknown default: self = .failed
    }
  }

  init(_ error: any Error) {
    self =
      switch error {
      case is CancellationError: .cancelled
      case is any AnswerError: .answered
      case let error as DispatchError:
        switch error.code {
        case .timedOut: .timedOut
        case .vetoed: .vetoed
        case .leftToAnotherProcess: .cancelled
        case .limitExceeded, .rateLimitExceeded, .circuitOpen, .dropped, .skipped,
          .idempotencyKeyReused, .invalidIdempotencyKey, .dispatcherClosed, .dispatcherPaused:
          .refused
        case .dependencyFailed, .undone:
          error.cause.map { RunOutcome($0) } == .answered ? .answered : .failed
        default: .failed
        }
      default: .failed
      }
  }

  /// Whether somebody should look at it.
  var isFailure: Bool { self == .failed || self == .timedOut }
}
