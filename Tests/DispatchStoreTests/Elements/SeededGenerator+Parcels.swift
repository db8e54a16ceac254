import DispatchStore
import DispatchStoreTesting

extension SeededGenerator {
  /// One number below `limit`.
  mutating func roll(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
}

extension Store where Model == ParcelBook {
  /// One random change: of the model, or back to a former one, of which snapshots are kept for a while.
  func changeAtRandom(_ dice: inout SeededGenerator, _ snapshots: inout [ParcelBook]) {
    if dice.roll(4) == 0 { snapshots.append(model) }
    if dice.roll(8) == 0 { snapshots.removeAll() }
    if dice.roll(20) == 0, let old = snapshots.first {
      inject(model: old)
    } else {
      updateModel { $0.changeAtRandom(&dice) }
    }
  }
}

extension ParcelBook {
  /// A few changes of all collections, as a program might make them; also to a copy that is then assigned.
  mutating func changeAtRandom(_ dice: inout SeededGenerator, ids: Int = 12) {
    for _ in 0...dice.roll(4) {
      let id = dice.roll(ids)
      switch dice.roll(12) {
      case 0...3: put(id, dice.roll(5))
      case 4, 5: put(id, nil)
      case 6: changeInPlace(id, dice.roll(5))
      case 7: changeCopy(id, dice.roll(5))
      case 8: changeAndRevert(id)
      case 9: changeAll(dice.roll(3))
      case 10: put(id, parcels[id]?.amount)
      default: if dice.roll(4) == 0 { clear() }
      }
    }
  }

  private mutating func changeInPlace(_ id: Int, _ amount: Int) {
    parcels[id]?.amount = amount
    parcels[id]?.lines.append("line")
    plain[id] = parcels[id]
    guard let index = list.firstIndex(where: { $0.id == id }), let parcel = parcels[id] else {
      return
    }
    list[index] = parcel
  }

  private mutating func changeCopy(_ id: Int, _ amount: Int) {
    var copy = parcels
    copy[id, default: Parcel(id: id)].amount = amount
    copy.merge([(id + 1, Parcel(id: id + 1))]) { $1 }
    parcels[id] = nil
    parcels = copy
    takeParcels()
  }

  private mutating func changeAndRevert(_ id: Int) {
    let copy = parcels
    parcels[id] = nil
    parcels = copy
  }

  private mutating func changeAll(_ amount: Int) {
    parcels.replaceContents(
      with: parcels.dictionary.mapValues { Parcel(id: $0.id, amount: amount) })
    takeParcels()
  }

  private mutating func clear() {
    parcels.removeAll()
    takeParcels()
  }

  /// The other collections have what the tracked one has.
  private mutating func takeParcels() {
    plain = parcels.dictionary
    list = Array(parcels.values)
  }
}
