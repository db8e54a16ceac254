import DispatchStore

/// Does what the program's hooks say.
final class FuzzMiddleware: Middleware {
  private let number: Int
  private let run: FuzzRun

  init(_ number: Int, _ run: FuzzRun) {
    (self.number, self.run) = (number, run)
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) throws -> MiddlewareVerdict {
    guard let (action, place, hook) = hook(action, store) else { return .pass }
    run.log.note(.will(number), action.number, store: place)
    if let body = hook.will { try? run.run(body) }
    switch hook.verdict {
    case .pass: return .pass
    case .replace: return .replace(with: action)
    case .veto: return .veto(reason: "drawn")
    case .fail: throw FuzzError()
    }
  }

  func didDispatch(
    transaction: StoreRunInfo, action: AnyAction, in store: AnyStore
  ) throws {
    guard let (action, place, hook) = hook(action, store) else { return }
    run.log.note(.did(number), action.number, store: place)
    if let body = hook.did { try? run.run(body) }
    if hook.didFails { throw FuzzError() }
  }

  private func hook(
    _ action: AnyAction, _ store: AnyStore
  ) -> (FuzzAction, Int, FuzzProgram.HookPlan)? {
    guard let action = action as? FuzzAction else {
      run.log.fail("a hook got \(action)")
      return nil
    }
    let place = FuzzRun.place(of: store)
    let key = FuzzProgram.HookPlace(middleware: number, action: action.number, store: place)
    return (action, place, run.program.hooks[key] ?? .init())
  }
}
