import DispatchStore

// The order within a dispatch: hooks, block, commits, hooks, completion, waiters.
extension FuzzCheck {
  func checkParts() {
    for (key, part) in parts.sorted(by: {
      ($0.key.action, $0.key.store) < ($1.key.action, $1.key.store)
    }) {
      let name = name(key)
      let attempts = self.attempts(program.actions[key.action].dispatch)
      check(part.began.count <= attempts, "\(name) ran \(part.began.count) times")
      check(
        part.began.count == part.ended.count + part.threw.count, "\(name) began and has not ended")
      for middleware in Set(part.wills.keys).union(part.dids.keys) {
        let (wills, dids) = (part.wills[middleware] ?? [], part.dids[middleware] ?? [])
        check(
          wills.count == dids.count && 1...attempts ~= wills.count,
          "\(name): \(wills.count) willDispatch and \(dids.count) didDispatch of m\(middleware)")
        guard wills.count == 1, let will = wills.first, let did = dids.first else { continue }
        check(will < did, "\(name): didDispatch before willDispatch")
        check(did > part.end ?? -1, "\(name): didDispatch of m\(middleware) before its block's end")
        check(
          part.commits.allSatisfy { $0 < did },
          "\(name): didDispatch of m\(middleware) before a commit")
        for inner in part.dids where inner.key > middleware {
          check(
            inner.value.count > 1 || inner.value.allSatisfy { $0 < did },
            "\(name): m\(middleware) is not around m\(inner.key)")
        }
      }
      checkPrerequisites(key, part)
    }
    for action in program.actions.indices { checkHooksComeFirst(action) }
  }

  private func checkHooksComeFirst(_ action: Int) {
    let all = program.stores.indices.compactMap { parts[Part.Key(action: action, store: $0)] }
    guard let first = all.compactMap(\.began.first).min() else { return }
    let last = all.flatMap { $0.wills.values.compactMap(\.first) }.max() ?? -1
    check(last < first, "action \(action): a store began before all willDispatch had run")
  }

  private func checkPrerequisites(_ key: Part.Key, _ part: Part) {
    guard let began = part.began.first else { return }
    for store in program.stores[key.store].waitFor {
      guard let before = parts[Part.Key(action: key.action, store: store)] else { continue }
      // An atomic action ends at once in all of its stores.
      let last =
        isKeyed(program.actions[key.action].dispatch)
        ? before.began.first ?? -1
        : max(before.end ?? -1, before.dids.values.joined().max() ?? -1)
      check(last < began, "\(name(key)) began before s\(store), for which it waits, had ended")
    }
  }

  func checkDispatches() {
    for (number, span) in spans.sorted(by: { $0.key < $1.key }) where span.called != nil {
      let plan = program.dispatches[number]
      let parts = parts(of: number)
      if case .none = plan.completion {
      } else {
        check(span.completed.count == 1, "#\(number) completed \(span.completed.count) times")
      }
      // The completion's event comes after what it did, so its end is compared.
      let last = parts.compactMap(\.last).max() ?? -1
      if hasTimeLimit(number) {
        // Both may come at the deadline, with the block still running.
      } else if let completed = span.completed.first {
        check(last < completed, "#\(number) completed before its stores had ended")
        for awaited in span.awaited {
          check(completed < awaited, "#\(number) was awaited before its completion")
        }
      }
      for awaited in span.awaited where !hasTimeLimit(number) {
        check(last < awaited, "#\(number) was awaited before its end")
      }
      if plan.mode == .sync, plan.isOutsideNotifications, let returned = span.returned {
        let end = max(last, span.completed.first ?? -1)
        check(end < returned, "#\(number) is .sync and returned before its end")
      }
      checkSequence(plan, number)
    }
  }

  private func checkSequence(_ plan: FuzzProgram.DispatchPlan, _ number: Int) {
    for (action, next) in zip(plan.actions, plan.actions.dropFirst()) {
      let last = program.stores.indices.compactMap {
        parts[Part.Key(action: action, store: $0)]?.last
      }.max()
      let first = program.stores.indices.compactMap {
        parts[Part.Key(action: next, store: $0)]?.began.first
      }.min()
      guard let last, let first else { continue }
      check(last < first, "#\(number): action \(next) began before action \(action) had ended")
    }
  }
}
