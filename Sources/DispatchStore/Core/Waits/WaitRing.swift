/// A deadlock: dispatches that would wait for each other for ever, in the order of the ring.
struct WaitRing {
  /// A dispatch, and where it runs.
  struct Member {
    let dispatch: Dispatch
    let scheduler: Scheduler

    init(_ dispatch: Dispatch) {
      self.dispatch = dispatch
      scheduler = dispatch.schedulerForWaits
    }

    var name: String {
      "dispatch \(dispatch.id) (\(dispatch.callSite), \(scheduler.description))"
    }
  }

  /// The reason why the preceding dispatch can't end before this one.
  enum Reason {
    /// The preceding dispatch waits for this one.
    case waits
    /// The preceding dispatch needs the lane that this one holds.
    case held(Scheduler)
    /// The preceding dispatch is behind this one in its lane.
    case queued(Scheduler)
    /// The preceding dispatch needs the main queue, which this one holds up.
    case mainQueue
    /// An operation of the preceding dispatch depends on one of this dispatch.
    case dependency
    /// The preceding dispatch needs an exclusion key that this one holds.
    case key(TypedKey)
    /// The preceding dispatch needs an exclusion key for which this one has waited longer.
    case behind(TypedKey)
    /// The preceding dispatch needs a unit of a limit, of which this one has one.
    case unit(String)
  }

  struct Link {
    let reason: Reason
    let member: Member
  }

  /// How the ring closes.
  enum End {
    /// The last dispatch is the waiting one, or goes on only after it.
    case heldUp
    /// The last dispatch needs the main queue, which the waiting one holds up.
    case mainQueue
    /// The last dispatch needs a thread of the cooperative pool, for itself or another, and the waiting one blocks
    /// one.
    case task
  }

  private let waiter: Member
  private let links: [Link]
  private let end: End

  init(_ waiter: Dispatch, _ links: [Link], _ end: End) {
    self.waiter = Member(waiter)
    // A `.sync` dispatch that waits for others, outside of any dispatch, is the first one itself.
    self.links = links.count > 1 && links[0].member.dispatch === waiter ? Array(links[1...]) : links
    self.end = end
  }

  /// The error of the refused wait; made outside of locks, since describing lanes calls the program's code.
  var error: DispatchError {
    // The waiting dispatch, the dispatch that it waits for, and the others of the ring.
    var callSites = [waiter, links[0].member].map(\.dispatch.callSite)
    for callSite in links.map(\.member.dispatch.callSite)
    where !callSites.contains(where: { $0.description == callSite.description }) {
      callSites.append(callSite)
    }
    return DispatchError(
      code: .wouldDeadlock,
      message: """
        A wait would never end: \(clauses.joined(separator: ", ")). Chain them with a completion, use \
        another lane, or don't wait.
        """,
      callSites: callSites)
  }

  private var clauses: [String] {
    var clauses: [String] = []
    var (last, subject) = (waiter, waiter.name)
    for link in links {
      clauses.append("\(subject) \(Self.predicate(last, link))")
      (last, subject) = (link.member, "which")
    }
    switch end {
    case .mainQueue:
      clauses.append("\(subject) needs the main queue, which is held up here")
    case .task:
      clauses.append(
        "\(subject) needs a thread of the system's pool for tasks, of which one would be blocked here"
      )
    case .heldUp where last.dispatch === waiter.dispatch:
      break
    case .heldUp:
      clauses.append("\(subject) goes on only after \(waiter.name)")
    }
    return clauses
  }

  private static func predicate(_ last: Member, _ link: Link) -> String {
    switch link.reason {
    case .waits where link.member.dispatch === last.dispatch:
      "waits for itself: it is the dispatch that waits"
    case .waits: "waits for \(link.member.name)"
    case .held(let scheduler):
      "needs \(scheduler.description), which is held by \(link.member.name)"
    case .queued(let scheduler):
      "is queued in \(scheduler.description) behind \(link.member.name)"
    case .mainQueue: "needs the main queue, which is held up by \(link.member.name)"
    case .dependency: "depends, by an operation, on one of \(link.member.name)"
    case .key(let key):
      "needs the exclusion key \"\(key.description)\", which is held by \(link.member.name)"
    case .behind(let key):
      "needs the exclusion key \"\(key.description)\" after \(link.member.name)"
    case .unit(let name):
      "needs a unit of \"\(name)\", which is held by \(link.member.name)"
    }
  }
}
