/// A bound on the number of dispatches that begin in a period: a token bucket for each key.
///
///     let mails = RateLimit(10, per: .seconds(1), overflow: .wait, name: "mails")
///     await shop.send(Mail(order), options: .rateLimited(by: mails, key: order.customer))
///
/// A full bucket has `burst` tokens. Each dispatch takes one when it begins, and one comes back every `period / count`.
/// So after a pause, `burst` dispatches may begin at once. From then on, `count` begin in a period.
///
/// Several dispatchers may share a limit if they have the same clock; the first one that uses it supplies time and
/// timers. Memory: an entry for each key whose bucket is not full, and none for a million keys that came and went.
public final class RateLimit: Sendable {
  /// The treatment of a dispatch for which there is no token.
  public enum Overflow: Sendable, Hashable, CaseIterable {
    /// The dispatch ends with a `DispatchError` of the code `rateLimitExceeded`, which has the time `retryAfter`.
    case reject
    /// The dispatch waits in its turn until a token comes, first come, first served.
    case wait
  }

  /// The counts of a rate limit at one instant.
  public struct Statistics: Sendable, Equatable {
    /// The number of keys whose buckets are not full.
    public let keys: Int
    /// The number of dispatches that wait for a token.
    public let waiting: Int
    /// The number of dispatches that have begun with a token so far.
    public let admitted: Int
    /// The number of dispatches rejected so far.
    public let rejected: Int
  }

  let overflow: Overflow
  /// The name in messages.
  public let name: String
  private let rule: TokenRule
  private let buckets = KeyedTable<RateBucket>()
  private let counts = Locked(RateCounts())
  /// The timers of the first dispatcher that uses the limit, kept beyond its life, since others may share the limit.
  private let timers = Locked<TimerQueue?>(nil)

  /// Makes a limit.
  ///
  /// - Parameters:
  ///   - count: The number of dispatches that may begin in a period; at least one.
  ///   - period: The length of the period; positive.
  ///   - burst: The number of dispatches that may begin at once after a pause; `count` by default. With 1, dispatches
  ///     begin at even distances.
  ///   - overflow: The treatment of dispatches above the rate.
  ///   - name: The name in messages.
  public init(
    _ count: Int, per period: Duration, burst: Int? = nil, overflow: Overflow = .reject,
    name: String = "rate limit"
  ) {
    if count < 1 || burst ?? 1 < 1 {
      stopProgram(
        """
        The rate limit "\(name)" was made with \(count) per period and a burst of \(burst ?? count), with which no \
        dispatch could begin. Both are 1 at least.
        """)
    }
    if period.wholeNanoseconds < 1 {
      stopProgram(
        """
        The rate limit "\(name)" was made with a period of \(period), in which any number could begin. It is a \
        nanosecond at least; leave the option out for no limit.
        """)
    }
    rule = TokenRule(count: count, period: period.wholeNanoseconds, burst: burst ?? count)
    (self.overflow, self.name) = (overflow, name)
  }

  /// The present counts.
  public var statistics: Statistics {
    let counts = counts.withLock { $0 }
    return Statistics(
      keys: buckets.count, waiting: counts.waiting, admitted: counts.admitted,
      rejected: counts.rejected)
  }

  /// Takes a token for a dispatch, unless it has one.
  func enter(_ dispatch: Dispatch, _ key: TypedKey, of dispatcher: Dispatcher) -> RateBucket.Entry {
    let timers = timers(for: dispatcher)
    let bucket = buckets.member(of: key) { RateBucket($0, rule, timers, counts) }
    return bucket.enter(dispatch, mayWait: overflow == .wait)
  }

  /// The bucket of a key; nil if it is full.
  func bucket(of key: TypedKey) -> RateBucket? { buckets.present(key) }

  private func timers(for dispatcher: Dispatcher) -> TimerQueue {
    timers.withLock { timers in
      if let present = timers { return present }
      timers = dispatcher.timers
      return dispatcher.timers
    }
  }

  func noteRejected() { counts.withLock { $0.rejected += 1 } }
}
