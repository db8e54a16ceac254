// error: type 'Dispatcher.SendMode' has no member 'sync'
import DispatchStore

struct Ping: ActionType {}

func block(_ dispatcher: Dispatcher) async {
  await dispatcher.send(Ping(), mode: .sync)
}
