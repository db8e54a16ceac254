/// When the dispatches of a key begin.
struct RateRule: Sendable {
  /// The length of an interval, in nanoseconds; positive.
  let period: Int64
  let edges: RateEdges
  /// Whether each dispatch extends its interval to a period after it.
  let isExtended: Bool
  /// The longest time that an interval lasts, in nanoseconds; nil for no limit.
  let longest: Int64?
}

/// When the dispatches of one key begin, without threads and without a clock.
///
/// The decisions depend on arrival times alone: a late timer makes a dispatch begin later, and changes nothing else.
/// Times are those of one clock; an earlier time counts as the latest one.
struct RateState<Member: AnyObject> {
  private struct Interval {
    let begin: Int64
    /// The end, which is not part of the interval.
    var end: Int64
    /// The call site of the dispatch that began with the interval, or opened it.
    let opener: CallSite
    /// The identity of that dispatch, to be compared only while it lives.
    let openerID: ObjectIdentifier
  }

  private struct Pending {
    let member: Member
    let rule: RateRule
    let callSite: CallSite
  }

  private var interval: Interval?
  /// The dispatch that begins at the end of the interval.
  private var pending: Pending?
  private var last = Int64.min

  /// The end of the interval; nil if nothing is pending, and each interval has been seen to end.
  var end: Int64? { interval?.end }

  enum Arrival {
    /// The dispatch begins now.
    case begin
    /// The dispatch begins at the end of the interval, in place of this one.
    case wait(replacing: Member?)
    /// The dispatch does not begin, because of the one made there.
    case skip(CallSite)
    /// The dispatch would have to wait, and may not; nothing has changed.
    case refuse
  }

  /// Adds a dispatch.
  ///
  /// Returns the pending dispatch whose interval has elapsed, which the caller starts.
  mutating func arrive(
    _ member: Member, _ rule: RateRule, from callSite: CallSite, at time: Int64, mayWait: Bool
  ) -> (Arrival, due: Member?) {
    let due = settle(at: time)
    return (arrive(Pending(member: member, rule: rule, callSite: callSite), mayWait), due)
  }

  private mutating func arrive(_ new: Pending, _ mayWait: Bool) -> Arrival {
    let rule = new.rule
    guard var present = interval else {
      if !rule.edges.isLeading, !mayWait { return .refuse }
      interval = Self.interval(from: last, new)
      if rule.edges.isLeading { return .begin }
      pending = new
      return .wait(replacing: nil)
    }
    if rule.edges.isTrailing, !mayWait { return .refuse }
    extend(&present, by: rule)
    interval = present
    guard rule.edges.isTrailing else { return .skip(present.opener) }
    let replaced = pending
    pending = new
    return .wait(replacing: replaced?.member)
  }

  /// Whether a dispatch that comes at this time opens an interval.
  func isBetweenIntervals(at time: Int64) -> Bool {
    guard let present = interval else { return true }
    return pending == nil && present.end <= max(last, time)
  }

  /// Skips a dispatch that comes within an interval and does not wait for its end.
  ///
  /// Returns the call site of the one that has opened the interval; nil, without an effect, for any other dispatch.
  mutating func skip(_ rule: RateRule, at time: Int64) -> CallSite? {
    let now = max(last, time)
    guard !rule.edges.isTrailing, var present = interval, now < present.end else { return nil }
    last = now
    extend(&present, by: rule)
    interval = present
    return present.opener
  }

  private func extend(_ interval: inout Interval, by rule: RateRule) {
    guard rule.isExtended else { return }
    let latest = rule.longest.map { interval.begin.addingClamped($0) } ?? .max
    interval.end = max(min(last.addingClamped(rule.period), latest), last)
  }

  /// Advances to a time.
  ///
  /// Returns the dispatch that begins, if any.
  mutating func settle(at time: Int64) -> Member? {
    last = max(last, time)
    guard let present = interval, present.end <= last else { return nil }
    guard let begun = pending.take() else {
      interval = nil
      return nil
    }
    // The next interval begins at the end of this one, however late the end is noticed.
    let next = Self.interval(from: present.end, begun)
    interval = next.end > last ? next : nil
    return begun.member
  }

  /// Removes an ended dispatch if it is the pending one.
  mutating func leave(_ member: Member) {
    if pending?.member === member { pending = nil }
  }

  /// Closes the interval that a member has opened that does not begin after all, unless another one waits for its end.
  mutating func withdraw(_ member: Member) {
    if pending == nil, interval?.openerID == ObjectIdentifier(member) { interval = nil }
  }

  private static func interval(from time: Int64, _ opener: Pending) -> Interval {
    let length = min(opener.rule.period, max(opener.rule.longest ?? .max, 0))
    return Interval(
      begin: time, end: time.addingClamped(length), opener: opener.callSite,
      openerID: ObjectIdentifier(opener.member))
  }
}
