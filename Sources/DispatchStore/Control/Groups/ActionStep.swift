/// A step of a group: one dispatch.
public struct ActionStep: Sendable {
  let step: GroupStep

  /// Makes a step that dispatches an action.
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: Where and in which order it runs.
  ///   - options: Further options of the dispatch.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  public init(
    _ action: some ActionType, storeIdentifier: String? = nil, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(.action(action), storeIdentifier, mode, options, fileID, line)
  }

  /// Makes a step that dispatches actions one after the other, as one dispatch.
  ///
  /// As `Dispatcher.dispatch(storeIdentifier:actions:mode:options:then:)`, also in a caller's task.
  public init(
    _ actions: [any ActionType], storeIdentifier: String? = nil, mode: Dispatcher.Mode = .serial,
    options: DispatchOptions = DispatchOptions(),
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(.actions(actions), storeIdentifier, mode, options, fileID, line)
  }

  /// Makes a step whose action is made when its turn comes, from what the one before it has led to.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: Where and in which order it runs.
  ///   - options: Further options of the dispatch.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  ///   - action: Gets the result of the step before it in its sequence, or those of the group before it, in the order
  ///     in which they are written; where it is the first, of what is before its group; at the beginning none.
  ///     Returns nil where there is nothing to do; where it throws, the step fails. Called on the thread that goes
  ///     on with the group, with no lock held, once each time when the group is run.
  public init(
    storeIdentifier: String? = nil, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = DispatchOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    from action: @escaping @Sendable ([DispatchResult]) throws -> (any ActionType)?
  ) {
    self.init(.made(action), storeIdentifier, mode, options, fileID, line)
  }

  private init(
    _ work: GroupStep.Work, _ storeIdentifier: String?, _ mode: Dispatcher.Mode,
    _ options: DispatchOptions, _ fileID: StaticString, _ line: UInt
  ) {
    step = GroupStep(work, to: storeIdentifier, mode, options, fileID: fileID, line: line)
  }

  private init(_ step: GroupStep) {
    self.step = step
  }

  /// The same step with an action that undoes it.
  ///
  /// It is dispatched when this step has finished and its group then stops: because a later step fails, is vetoed or
  /// cancelled, or the group is cancelled. Compensations run in the reverse of the order in which their steps
  /// ended, one after the other, each once, also after one that fails. They heed no cancellation, no deadline of what is
  /// around them, and no `close()`. After `shutDown()` none starts (`DrainReport.uncompensated`).
  ///
  /// - Parameters:
  ///   - action: The action.
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: Where and in which order it runs; nil for the step's mode.
  ///   - options: Further options of its dispatch, such as attempts or a time limit of its own.
  ///   - ifOnlyBegun: Whether it is dispatched, too, if this step began in a store and then failed, timed out or was
  ///     cancelled: its effect may have happened. It then awaits the end of the step's block.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  public func compensated(
    by action: some ActionType, storeIdentifier: String? = nil, mode: Dispatcher.Mode? = nil,
    options: DispatchOptions = DispatchOptions(), ifOnlyBegun: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ActionStep {
    compensated(.action(action), storeIdentifier, mode, options, ifOnlyBegun, fileID, line)
  }

  /// The same step with an action that undoes it, made from the step's result when it is needed.
  ///
  /// As `compensated(by:storeIdentifier:mode:options:ifOnlyBegun:)`, in all else.
  ///
  /// - Parameters:
  ///   - storeIdentifier: The only store to run; nil for all that respond.
  ///   - mode: Where and in which order it runs; nil for the step's mode.
  ///   - options: Further options of its dispatch.
  ///   - ifOnlyBegun: Whether it is dispatched, too, if this step began and did not finish.
  ///   - fileID: The call site's file.
  ///   - line: The call site's line.
  ///   - action: Gets the step's result. Returns nil where there is nothing to do; where it throws, the compensation
  ///     has failed.
  public func compensated(
    storeIdentifier: String? = nil, mode: Dispatcher.Mode? = nil,
    options: DispatchOptions = DispatchOptions(), ifOnlyBegun: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    from action: @escaping @Sendable (DispatchResult) throws -> (any ActionType)?
  ) -> ActionStep {
    compensated(
      .made { results in try results.first.flatMap(action) }, storeIdentifier, mode, options,
      ifOnlyBegun, fileID, line)
  }

  private func compensated(
    _ work: GroupStep.Work, _ storeIdentifier: String?, _ mode: Dispatcher.Mode?,
    _ options: DispatchOptions, _ ifOnlyBegun: Bool, _ fileID: StaticString, _ line: UInt
  ) -> ActionStep {
    ActionStep(
      step.compensated(
        by: GroupStep(
          work, to: storeIdentifier, mode ?? step.mode, options.detached, fileID: fileID,
          line: line), ifBegun: ifOnlyBegun))
  }
}
