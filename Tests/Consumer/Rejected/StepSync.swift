// error: type 'Dispatcher.SendMode' has no member 'sync'
import DispatchStore

struct Ping: ActionType {}

let group = ActionGroup {
  ActionStep(Ping(), mode: .sync)
}
