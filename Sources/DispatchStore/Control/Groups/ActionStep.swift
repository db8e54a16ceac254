/// A step of a group: one dispatch.
public struct ActionStep: Sendable {
  let step: GroupStep
  private(set) var undo: GroupStep.Undo?

  /// Makes a step that dispatches an action.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: The place at which it runs, and the order.
  ///   - options: Further options of the dispatch.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  public init(
    _ action: some ActionType, to storeIdentifier: String? = nil,
    mode: Dispatcher.SendMode = .async,
    options: DispatchOptions = [],
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.init({ _ in .action(action) }, storeIdentifier, mode, options, CallSite(fileID, line))
  }

  /// Makes a step that dispatches actions one after the other, as one dispatch.
  ///
  /// Everything else is as with `Dispatcher.dispatch(storeIdentifier:actions:mode:options:then:)`, even if the group
  /// runs in its caller's task.
  public init(
    _ actions: [any ActionType], to storeIdentifier: String? = nil,
    mode: Dispatcher.SendMode = .serial,
    options: DispatchOptions = [],
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.init({ _ in .actions(actions) }, storeIdentifier, mode, options, CallSite(fileID, line))
  }

  /// Makes a step whose action is made when its turn comes, from the results of the element before it.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: The place at which it runs, and the order.
  ///   - options: Further options of the dispatch.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  ///   - action: Gets the result of the step before it in its sequence, or the results of the group before it, in the
  ///     order in which they are written. For a first element, these are the results of the element before its group;
  ///     at the beginning there are none. Returns nil if there is nothing to do; if it throws, the step fails. Called
  ///     on the thread that continues the group, with no lock held, once each time the group is run.
  public init(
    to storeIdentifier: String? = nil, mode: Dispatcher.SendMode = .async,
    options: DispatchOptions = [],
    fileID: StaticString = #fileID, line: UInt = #line,
    from action: @escaping @Sendable ([DispatchResult]) throws -> (any ActionType)?
  ) {
    self.init(
      { results in try action(results()).map(GroupStep.Ready.action) }, storeIdentifier, mode,
      options, CallSite(fileID, line))
  }

  private init(
    _ work: @escaping GroupStep.Work, _ storeIdentifier: String?, _ mode: Dispatcher.SendMode,
    _ options: DispatchOptions, _ callSite: CallSite
  ) {
    step = GroupStep(work, to: storeIdentifier, mode, options, callSite)
  }

  /// Returns this step with an action that undoes it.
  ///
  /// The compensation is dispatched when this step has finished and its group then stops. A group stops if a later
  /// step fails, is vetoed or cancelled, or if the group is cancelled. Compensations run in the reverse of the order
  /// in which their steps ended. They run one after the other, each once, even after one that fails. Compensations
  /// heed no cancellation, no deadline of the enclosing block, and no `close()`, and take no unit of the dispatcher's
  /// bounds (`DispatchLimits`). After `shutDown()` none starts (`DrainReport.uncompensated`).
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: The place at which the compensation runs, and the order; nil for the step's mode.
  ///   - options: Further options of the compensation, such as attempts or a time limit of its own. At that limit it is
  ///     cancelled, and ends once its block has.
  ///   - ifOnlyBegun: Whether to compensate, too, if this step began in a store and then failed, timed out or was
  ///     cancelled: its effect may have happened. The compensation then awaits the end of the step's block.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  public func compensated(
    by action: some ActionType, to storeIdentifier: String? = nil,
    mode: Dispatcher.SendMode? = nil,
    options: DispatchOptions = [], ifOnlyBegun: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ActionStep {
    compensated(
      { _ in .action(action) }, storeIdentifier, mode, options, ifOnlyBegun, CallSite(fileID, line))
  }

  /// Returns this step with an action that undoes it, made from the step's result when it is needed.
  ///
  /// Everything else is as with `compensated(by:to:mode:options:ifOnlyBegun:)`.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: The place at which the compensation runs, and the order; nil for the step's mode.
  ///   - options: Further options of the compensation.
  ///   - ifOnlyBegun: Whether to compensate, too, if this step began and did not finish.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  ///   - action: Gets the step's result. Returns nil if there is nothing to do; if it throws, the compensation has
  ///     failed.
  public func compensated(
    to storeIdentifier: String? = nil, mode: Dispatcher.SendMode? = nil,
    options: DispatchOptions = [], ifOnlyBegun: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    from action: @escaping @Sendable (DispatchResult) throws -> (any ActionType)?
  ) -> ActionStep {
    compensated(
      { results in try results().first.flatMap(action).map(GroupStep.Ready.action) },
      storeIdentifier, mode, options, ifOnlyBegun, CallSite(fileID, line))
  }

  private func compensated(
    _ work: @escaping GroupStep.Work, _ storeIdentifier: String?, _ mode: Dispatcher.SendMode?,
    _ options: DispatchOptions, _ ifOnlyBegun: Bool, _ callSite: CallSite
  ) -> ActionStep {
    // Full bounds must not keep a finished step from being undone. And the next compensation follows this one's block.
    let options = ([options, .detached] as DispatchOptions).controlled {
      ($0.takesBounds, $0.endsWithStores) = (false, true)
    }
    var copy = self
    copy.undo = (
      GroupStep(work, to: storeIdentifier, mode ?? step.mode, options, callSite), ifOnlyBegun
    )
    return copy
  }
}
