// The runs that follow a dispatch, as they ask for it once it has ended.
extension EndedDispatch {
  /// Notes that something follows the dispatch, also if it is cancelled later, or has to wait.
  ///
  /// Called before the dispatch has ended for those that wait for it.
  func noteFollower() { details.withState { $0.isFollowed = true } }

  /// Links the dispatch with a follower; returns false, without an effect, if nothing is to follow it.
  func lead(to member: any FamilyMember, standingIn standIn: Dispatch) -> Bool {
    details.adopt(
      .init(id: standIn.id, details: standIn.makeDetails(), member: member, follows: true))
  }

  /// The deadline of the dispatch or of its enclosing block, by the dispatcher's clock; nil if it has passed.
  var deadline: Int64? {
    guard let inherited = details.inheritedDeadline else { return nil }
    let now = dispatcher.clock.nanoseconds
    let time = inherited.time(by: dispatcher.clock, at: now)
    return time > now ? time : nil
  }
}
