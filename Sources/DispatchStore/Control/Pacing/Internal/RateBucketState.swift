/// How many dispatches of a key may begin in a period.
struct TokenRule: Sendable {
  /// The number of tokens that come in a period; positive.
  let count: Int128
  /// The length of a period, in nanoseconds; positive.
  let period: Int128
  /// The number of tokens that a full bucket has; positive.
  let burst: Int128

  init(count: Int, period: Int64, burst: Int) {
    // Numbers that no program reaches are cut, so that no product of them and a time overflows.
    self.count = Int128(min(count, 1 << 60))
    self.period = Int128(period)
    self.burst = Int128(min(burst, 1 << 60))
  }
}

/// The tokens of one key of a rate limit, and the members that wait for them: without threads and without a clock.
///
/// The bucket is kept as one number, the time at which it is full again (GCRA). Its unit is a nanosecond divided by
/// the rule's count: in it, a token takes exactly a period to come, and no rounding adds up.
///
/// Times are those of one clock; an earlier time counts as the latest one.
struct RateBucketState<Member: AnyObject> {
  private let rule: TokenRule
  private var full: Int128 = 0
  private var last: Int64 = 0
  private var line = WaitingLine<Member>()
  /// Members that have a token, and have not begun.
  private var holders: [ObjectIdentifier: Member] = [:]

  init(_ rule: TokenRule) {
    self.rule = rule
  }

  var waitingCount: Int { line.count }

  func isWaiting(_ member: Member) -> Bool { line.contains(member) }

  /// Whether the bucket is full, and nothing waits: then it is as one that is yet to be made.
  var isIdle: Bool { line.isEmpty && holders.isEmpty && full <= now }

  /// The time of the next change by itself: the next token for those that wait, or else the full bucket.
  ///
  /// Nil if the bucket is full.
  var next: Int64? {
    if !line.isEmpty { return nanoseconds(at: tokenTime) }
    return full > now ? nanoseconds(at: full) : nil
  }

  enum Entry {
    /// The member has a token until it begins or leaves.
    case token
    /// The member waits for a token from now on.
    case waits
    /// The member may not wait, and there is no token before this time, in nanoseconds, has passed.
    case refused(Int64)
  }

  /// Takes a token for a member, unless it has one.
  mutating func enter(_ member: Member, at time: Int64, mayWait: Bool) -> Entry {
    last = max(last, time)
    let id = ObjectIdentifier(member)
    if holders[id] != nil { return .token }
    if line.contains(member) { return .waits }
    if line.isEmpty, tokenTime <= now {
      takeToken(for: member)
      return .token
    }
    guard mayWait else { return .refused(nanoseconds(at: tokenTime) - last) }
    line.append(member)
    return .waits
  }

  /// The time until there is a token for a member that comes now, in nanoseconds; nil if there is one.
  func timeLeft(at time: Int64) -> Int64? {
    let present = max(last, time)
    if line.isEmpty, tokenTime <= Int128(present) * rule.count { return nil }
    return nanoseconds(at: tokenTime) - present
  }

  /// Notes that a member begins; returns whether it has used a token for that.
  mutating func begin(_ member: Member) -> Bool {
    holders.removeValue(forKey: ObjectIdentifier(member)) != nil
  }

  /// Removes a member that does not begin; its token, or its place, goes to the next one.
  ///
  /// Does nothing if it has begun. Settle afterwards.
  mutating func leave(_ member: Member) {
    if line.remove(member) { return }
    guard holders.removeValue(forKey: ObjectIdentifier(member)) != nil else { return }
    if !isPlanted(.lostToken) { full -= rule.period }
  }

  /// Gives the tokens that have come to the members that are next, and returns these.
  mutating func settle(at time: Int64) -> [Member] {
    last = max(last, time)
    var granted: [Member] = []
    while tokenTime <= now, let member = line.popFirst() {
      takeToken(for: member)
      granted.append(member)
    }
    return granted
  }

  // MARK: Tokens

  private var now: Int128 { Int128(last) * rule.count }

  /// The time at which a token is free.
  private var tokenTime: Int128 { full - (rule.burst - 1) * rule.period }

  private mutating func takeToken(for member: Member) {
    full = max(full, now) + rule.period
    holders[ObjectIdentifier(member)] = member
  }

  /// The first nanosecond at which that time has come, clamped.
  private func nanoseconds(at time: Int128) -> Int64 {
    Int64(clamping: (time + rule.count - 1) / rule.count)
  }
}
