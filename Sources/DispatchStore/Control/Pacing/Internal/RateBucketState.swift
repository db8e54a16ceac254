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
/// The bucket is kept as two times at which it is full again (GCRA): if all offers are taken, and if none is. Their
/// unit is a nanosecond divided by the rule's count: in it, a token takes exactly a period to come, and no rounding
/// adds up.
///
/// When a token comes, it is offered to the first member in line, which takes it once it can begin. An offer only
/// keeps the token from members that come later: if members can't begin, tokens do not pile up, since each offer and
/// each token lapses once its place in the bucket has refilled.
///
/// Times are those of one clock; an earlier time counts as the latest one.
struct RateBucketState<Member: AnyObject> {
  private let rule: TokenRule
  /// The time at which the bucket is full again if all offers are taken.
  private var full: Int128 = 0
  /// The time at which the bucket is full again if no offer is taken; not after `full`.
  private var fullAfterTaken: Int128 = 0
  private var last: Int64 = 0
  private var line = WaitingLine<Member>()
  /// Members that came for their token too late; they are before those in line.
  private var returned = WaitingLine<Member>()
  /// Members that have a token or an offer, and have not begun.
  private var holders: [ObjectIdentifier: Holder] = [:]

  private struct Holder {
    let member: Member
    /// Whether it has its token; if not, it has an offer.
    let hasTaken: Bool
    /// The time at which the place of that token has refilled.
    let end: Int128
  }

  init(_ rule: TokenRule) {
    self.rule = rule
  }

  var waitingCount: Int { returned.count + line.count }

  func isWaiting(_ member: Member) -> Bool { returned.contains(member) || line.contains(member) }

  /// Whether the bucket is full, and nothing waits: then it is as one that is yet to be made.
  var isIdle: Bool { waitingCount == 0 && holders.isEmpty && full <= now }

  /// The time of the next change by itself: the next token for those that wait, or else the full bucket.
  ///
  /// Nil if the bucket is full.
  var next: Int64? {
    if waitingCount > 0 { return nanoseconds(at: tokenTime(full)) }
    return full > now ? nanoseconds(at: full) : nil
  }

  enum Entry {
    /// The member has a token until it begins, leaves or lets it lapse.
    case token
    /// The member waits for a token from now on.
    case waits
    /// The member may not wait, and there is no token before this time, in nanoseconds, has passed.
    case refused(Int64)
  }

  /// Takes a token for a member, unless it has one.
  ///
  /// - Parameter mayWait: If false, a token does not lapse, since the call has decided.
  mutating func enter(_ member: Member, at time: Int64, mayWait: Bool) -> Entry {
    last = max(last, time)
    if isWaiting(member) { return .waits }
    if let holder = holders[ObjectIdentifier(member)] {
      if holder.hasTaken, !mayWait || holder.end > now { return .token }
      return takeOffered(of: holder)
    }
    if waitingCount == 0, tokenTime(full) <= now {
      full = max(full, now) + rule.period
      take(for: member)
      return .token
    }
    guard mayWait else { return .refused(nanoseconds(at: tokenTime(full)) - last) }
    line.append(member)
    return .waits
  }

  /// Takes a token for a member that has an offer, or had a token; if none is left, it waits before those in line.
  private mutating func takeOffered(of holder: Holder) -> Entry {
    if tokenTime(fullAfterTaken) <= now {
      take(for: holder.member)
      full = max(full, fullAfterTaken)
      return .token
    }
    leave(holder.member)
    returned.append(holder.member)
    return .waits
  }

  /// The time until there is a token for a member that comes now, in nanoseconds; nil if there is one.
  func timeLeft(at time: Int64) -> Int64? {
    let present = max(last, time)
    let tokenTime = tokenTime(full)
    if waitingCount == 0, tokenTime <= Int128(present) * rule.count { return nil }
    return nanoseconds(at: tokenTime) - present
  }

  /// Notes that a member begins; returns whether it has used a token for that.
  mutating func begin(_ member: Member) -> Bool {
    holders.removeValue(forKey: ObjectIdentifier(member)) != nil
  }

  /// Removes a member that does not begin; its token, or its place, goes to the next one.
  ///
  /// Does nothing if it has begun. Settle afterwards.
  mutating func leave(_ member: Member, at time: Int64) {
    last = max(last, time)
    if !returned.remove(member), !line.remove(member) { leave(member) }
  }

  /// Gives back a token or an offer, unless it has lapsed: the bucket has its place again by itself then.
  private mutating func leave(_ member: Member) {
    guard let holder = holders.removeValue(forKey: ObjectIdentifier(member)), holder.end > now,
      !isPlanted(.lostToken)
    else { return }
    if holder.hasTaken { fullAfterTaken -= rule.period }
    full = max(full - rule.period, fullAfterTaken)
  }

  /// Offers the tokens that have come to the members that are next, and returns these.
  mutating func settle(at time: Int64) -> [Member] {
    last = max(last, time)
    var called: [Member] = []
    while tokenTime(full) <= now, let member = returned.popFirst() ?? line.popFirst() {
      full = max(full, now) + rule.period
      hold(Holder(member: member, hasTaken: false, end: full))
      called.append(member)
    }
    return called
  }

  // MARK: Tokens

  private var now: Int128 { Int128(last) * rule.count }

  /// The time at which a token is free, in a bucket that is full at that time.
  private func tokenTime(_ full: Int128) -> Int128 { full - (rule.burst - 1) * rule.period }

  private mutating func take(for member: Member) {
    fullAfterTaken = max(fullAfterTaken, now) + rule.period
    hold(Holder(member: member, hasTaken: true, end: fullAfterTaken))
  }

  private mutating func hold(_ holder: Holder) {
    holders[ObjectIdentifier(holder.member)] = holder
  }

  /// The first nanosecond at which that time has come, clamped.
  private func nanoseconds(at time: Int128) -> Int64 {
    Int64(clamping: (time + rule.count - 1) / rule.count)
  }
}
