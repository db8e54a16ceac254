/// The token that a dispatch needs: of which limit, and for which key.
struct RateDemand: Sendable {
  let limit: RateLimit
  private let key: TypedKey

  init(_ limit: RateLimit, _ key: TypedKey = .unnamed) {
    (self.limit, self.key) = (limit, key)
  }

  /// The bucket of the key; nil if it is full.
  private var bucket: RateBucket? { limit.bucket(of: key) }

  /// Takes a token for a dispatch; returns whether it has one, and throws if it is rejected.
  func enter(_ dispatch: Dispatch, of dispatcher: Dispatcher) throws(DispatchError) -> Bool {
    switch limit.enter(dispatch, key, of: dispatcher) {
    case .token: return true
    case .waits: return false
    case .refused(let time):
      limit.noteRejected()
      throw .rateLimitExceeded(self, dispatch.callSite, retryAfter: .nanoseconds(time))
    }
  }

  /// Throws if there is no token for a dispatch made now; takes none.
  func check(at callSite: CallSite) throws(DispatchError) {
    guard let time = bucket?.timeLeft else { return }
    limit.noteRejected()
    throw .rateLimitExceeded(self, callSite, retryAfter: .nanoseconds(time))
  }

  /// Whether a dispatch waits for its token.
  func isAwaited(by dispatch: Dispatch) -> Bool { bucket?.isAwaited(by: dispatch) == true }

  /// Notes that a dispatch begins with its token.
  func begin(_ dispatch: Dispatch) { bucket?.begin(dispatch) }

  /// Gives the token of a dispatch that does not begin, or its place, to the next one.
  func leave(_ dispatch: Dispatch) { bucket?.leave(dispatch) }

  /// The limit with its key, in words; calls the program's code.
  var description: String {
    key == .unnamed
      ? "\"\(limit.name)\"" : "\"\(limit.name)\" for the key \(key.description)"
  }
}

extension DispatchError {
  fileprivate static func rateLimitExceeded(
    _ demand: RateDemand, _ callSite: CallSite, retryAfter time: Duration
  ) -> DispatchError {
    DispatchError(
      code: .rateLimitExceeded,
      message: """
        The dispatch at \(callSite) was rejected: more came than the rate limit \(demand.description) lets begin. \
        Try again after \(time).
        """,
      callSites: [callSite], retryAfter: time)
  }
}
