/// How the dispatches of a key come to begin.
struct RateRule: Sendable {
  /// In nanoseconds, and positive.
  let period: Int64
  let edges: RateEdges
  /// Whether each dispatch extends the interval that it comes in, to its period after it.
  let isExtended: Bool
  /// So long an interval is at most.
  let longest: Int64?
}

/// When the dispatches of one key begin, without threads and without a clock.
///
/// It depends on the times at which they come alone: a timer that is late lets one begin later, and changes nothing else.
/// Times are those of one clock; one that is earlier than the last counts as that.
struct RateState<Member: AnyObject> {
  private struct Interval {
    let begin: Int64
    /// The interval does not contain it.
    var end: Int64
    /// Where the dispatch was made that has begun with it, or has opened it.
    let opener: CallSite
  }

  private struct Pending {
    let member: Member
    let rule: RateRule
    let callSite: CallSite
  }

  private var interval: Interval?
  /// Begins at the end of the interval.
  private var pending: Pending?
  private var last = Int64.min

  /// Whether nothing is pending, and no interval goes on that has not been seen to end.
  var isIdle: Bool { interval == nil }

  /// When the interval ends; nil where there is none.
  var end: Int64? { interval?.end }

  enum Arrival {
    /// It begins now.
    case begin
    /// It begins at the end of the interval, in place of this one.
    case wait(replacing: Member?)
    /// It does not begin, because of the one made there.
    case skip(CallSite)
    /// It would have to wait, and may not; nothing has changed.
    case refuse
  }

  /// One comes; with the one whose time has come by now, which begins.
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
    if rule.isExtended {
      let latest = rule.longest.map { present.begin.addingClamped($0) } ?? .max
      present.end = max(min(last.addingClamped(rule.period), latest), last)
      interval = present
    }
    guard rule.edges.isTrailing else { return .skip(present.opener) }
    let replaced = pending
    pending = new
    return .wait(replacing: replaced?.member)
  }

  /// The time has come to that; the one that begins.
  mutating func settle(at time: Int64) -> Member? {
    last = max(last, time)
    guard let present = interval, present.end <= last else { return nil }
    guard let begun = pending.take() else {
      interval = nil
      return nil
    }
    // From the end on, however late it is found.
    let next = Self.interval(from: present.end, begun)
    interval = next.end > last ? next : nil
    return begun.member
  }

  /// One has ended that may be pending.
  mutating func leave(_ member: Member) {
    if pending?.member === member { pending = nil }
  }

  private static func interval(from time: Int64, _ opener: Pending) -> Interval {
    let length = min(opener.rule.period, max(opener.rule.longest ?? .max, 0))
    return Interval(begin: time, end: time.addingClamped(length), opener: opener.callSite)
  }
}
