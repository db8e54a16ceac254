import DispatchStore

/// How a dispatch, or a store's part in it, has ended: the word that logs, metrics and spans use.
enum RunOutcome: String, Hashable, Sendable {
  case finished
  /// A handler threw, or the library ended the run because of a mistake or a failure.
  case failed
  case cancelled
  case timedOut
  case vetoed
  /// A limit, a breaker, a key or a closed dispatcher refused it: this protects the service, and is no failure.
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
      case let error as DispatchError:
        switch error.code {
        case .timedOut: .timedOut
        case .vetoed: .vetoed
        case .limitExceeded, .rateLimitExceeded, .circuitOpen, .dropped, .skipped,
          .dispatcherClosed:
          .refused
        default: .failed
        }
      default: .failed
      }
  }

  /// Whether somebody should look at it.
  var isFailure: Bool { self == .failed || self == .timedOut }
}
