/// A group that was to be undone, but whose compensations the dispatcher has refused because it was shut down.
public struct UncompensatedGroup: Sendable, CustomStringConvertible {
  /// The key of the group's dispatch (`DispatchOptions.named(_:)`), as text; nil if it has none.
  public let name: String?
  /// The call site of the group's dispatch.
  public let callSite: CallSite
  /// The steps that were not undone.
  public let steps: [ActionStepResult]

  /// The group, and its steps' call sites.
  public var description: String {
    let steps = steps.map { "\($0.callSite)" }.joined(separator: ", ")
    return "group \(name.map { "\"\($0)\" " } ?? "")at \(callSite): steps at \(steps)"
  }
}

/// The uncompensated groups of a dispatcher, for the reports of its drains.
final class UncompensatedGroups: DispatcherAttachment {
  let all = Locked<[UncompensatedGroup]>([])
}

extension Dispatcher {
  var uncompensatedGroups: UncompensatedGroups { attachment(orAdd: UncompensatedGroups()) }

  /// Notes a group that has ended with steps that were not undone.
  func note(_ group: UncompensatedGroup) {
    uncompensatedGroups.all.withLock { $0.append(group) }
    report(
      .notCompensated, "Dispatcher \"\(name)\" was shut down before steps were undone: \(group)")
  }

  /// Reports a group that has ended with compensations that failed.
  ///
  /// It is in no drain's report: its result says how each of them ended.
  func reportFailure(of group: UncompensatedGroup) {
    let error = group.steps.lazy.compactMap { $0.compensation?.error }.first
    report(
      .notCompensated,
      """
      Dispatcher "\(name)" could not undo steps, because their compensations failed: \(group). The first error is: \
      \(error.map { "\($0)" } ?? "")
      """)
  }
}
