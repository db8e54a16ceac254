import DispatchStore

// Groups, whose steps and compensations are dispatches of the program.
extension FuzzRun {
  func group(_ place: Int) -> ActionGroup {
    let plan = program.groups[place]
    let order = plan.limit.map(ActionGroup.Order.concurrent) ?? .sequence
    let group = ActionGroup(order) {
      for number in plan.steps { step(number, undo: plan.undos[number]) }
    }
    return plan.continues ? group.continuingOnFailure() : group
  }

  private func step(_ number: Int, undo: Int?) -> ActionStep {
    let plan = program.dispatches[number]
    let step = ActionStep(
      FuzzAction(number: plan.actions[0]), to: plan.target.map { "s\($0)" },
      mode: .init(plan.mode.mode)!, options: options(of: plan), fileID: "fuzz", line: UInt(number))
    guard let undo else { return step }
    let other = program.dispatches[undo]
    return step.compensated(
      by: FuzzAction(number: other.actions[0]), to: other.target.map { "s\($0)" },
      mode: .init(other.mode.mode)!, options: options(of: other), fileID: "fuzz", line: UInt(undo))
  }

  /// Makes a group, and goes on.
  func dispatchGroup(_ place: Int) {
    guard let dispatcher = dispatcher(program.groups[place].dispatcher), isFirstGroup(place) else {
      return
    }
    beginActivity()
    let handle = dispatcher.dispatch(
      group(place), options: options(of: program.groups[place].controls)
    ) { result in
      self.note(result, of: place)
      try? self.run(self.program.groups[place].completion)
      self.log.note(.groupEnded, place)
      self.endActivity()
    }
    present.with { $0.groupHandles[place] = handle }
    if program.groups[place].isCancelled { cancelGroup(place) }
  }

  func cancelGroup(_ place: Int) {
    guard let handle = present.now.groupHandles[place] else { return }
    handle.cancel()
    log.note(.groupCancelled, place)
  }

  func awaitGroup(_ place: Int) async {
    guard let handle = present.now.groupHandles[place] else { return }
    let end = beginWait("a task awaits group \(place)")
    let error = await handle.result.error
    end()
    if (error as? DispatchError)?.code == .wouldDeadlock, !handle.hasEnded {
      noteRefusal("await group \(place): \(error!)")
    }
  }

  /// Runs a group in this task.
  func sendGroup(_ place: Int) async {
    guard let dispatcher = dispatcher(program.groups[place].dispatcher), isFirstGroup(place) else {
      return
    }
    let end = beginWait("a task sends group \(place)")
    let result = await dispatcher.send(
      group(place), options: options(of: program.groups[place].controls))
    end()
    note(result, of: place)
  }

  private func isFirstGroup(_ place: Int) -> Bool {
    present.with { $0.madeGroups.insert(place).inserted }
  }

  private func note(_ result: ActionGroupResult, of place: Int) {
    let plan = program.groups[place]
    present.with { present in
      if present.groups.updateValue(result, forKey: place) != nil {
        log.fail("group \(place) ended twice")
      }
      for (number, step) in zip(plan.steps, result.steps) {
        present.sent[number] = step.result
        if let undo = plan.undos[number] { present.sent[undo] = step.compensation?.result }
      }
    }
  }
}
