import DispatchStore

// Commits, observers and warnings.
extension FuzzCheck {
  func checkObservers() {
    let present = run.present.now
    for (place, store) in present.stores.enumerated() {
      let versions = commits[place, default: []].map(\.version)
      check(
        versions == Array(1..<versions.count + 1), "the commits of s\(place) are \(versions)")
      guard let store else { continue }
      let (version, count) = (store.version, store.model.count)
      check(
        Int(version) == versions.count && count == versions.count,
        "s\(place) has version \(version) and counts \(count) after \(versions.count) commits")
    }
    for follower in present.followers {
      let versions = follower.versions.now
      let isNewest = follower.kind == .newest
      check(
        zip(versions, versions.dropFirst()).allSatisfy { isNewest ? $0 < $1 : $0 + 1 == $1 },
        "a follower of s\(follower.store) got \(versions)")
    }
    for place in program.observers.indices {
      let plan = program.observers[place]
      let versions = observed[place, default: []].map(\.version)
      check(versions == Array(1..<versions.count + 1), "o\(place) got \(versions)")
      let isWhole = !present.cancelledObservers.contains(place) && present.stores[plan.store] != nil
      let all = commits[plan.store, default: []].count
      check(!isWhole || versions.count == all, "o\(place) got \(versions.count) of \(all) commits")
      if plan.isInline, !program.mayBlockNotifiers, isWhole { checkDelivery(place, plan.store) }
    }
  }

  /// Each commit of an action is delivered before its `didDispatch` and its completion.
  private func checkDelivery(_ observer: Int, _ store: Int) {
    var times: [Int: Int] = [:]
    for call in observed[observer, default: []] { times[call.version] = call.time }
    for commit in commits[store, default: []] where commit.action >= 0 {
      let key = Part.Key(action: commit.action, store: store)
      let dispatch = program.actions[commit.action].dispatch
      guard let delivered = times[commit.version] else { continue }
      // The `didDispatch` of an earlier attempt came before the commit, so the last one counts.
      check(
        parts[key]!.dids.values.compactMap(\.last).allSatisfy { delivered < $0 },
        "\(name(key)): didDispatch before commit \(commit.version) reached o\(observer)")
      check(
        hasTimeLimit(dispatch)
          || spans[dispatch]?.completed.first.map { delivered < $0 } ?? true,
        "\(name(key)): completed before commit \(commit.version) reached o\(observer)")
    }
  }

  func checkWarnings() {
    let answers = program.actions.flatMap(\.answers.values)
    var expected: Set<DispatchWarning.Kind> = [.noResponder]
    if program.hooks.values.contains(where: \.didFails) { expected.insert(.middlewareFailed) }
    if answers.contains(where: \.drops) { expected.insert(.abandoned) }
    if program.groups.contains(where: { !$0.undos.isEmpty }) { expected.insert(.notCompensated) }
    for kind in run.present.now.warnings {
      check(expected.contains(kind), "a warning that nothing in the program leads to: \(kind)")
    }
  }
}

extension FuzzProgram.ObserverPlan {
  fileprivate var isInline: Bool { kind == .inline || kind == .projection }
}

extension FuzzProgram {
  /// Whether a thread that notifies observers may wait inside the library, so that others go on without it.
  fileprivate var mayBlockNotifiers: Bool {
    dispatches.contains { $0.mode == .sync && !$0.isOutsideNotifications }
  }
}
