/// The means to undo the changes of a model of which parts are undone in place; the rest is copied.
final class InPlaceUndo: ModelUndo, @unchecked Sendable {
  // because its superclass is, and what it adds is constant
  /// The parts: the copy is without them.
  let parts: [PartUndo]
  /// The means to undo by a copy.
  let base: ModelUndo

  init(_ parts: [PartUndo], copyingBy base: ModelUndo) {
    (self.parts, self.base) = (parts, base)
    super.init(
      copy: base.copy,
      begin: { model in
        base.begin(model)
        for part in parts {
          part.empty(base.copy)
          part.hold(model)
        }
      },
      undo: { model in
        let undone = parts.map { part in
          // The copy becomes the model.
          defer { part.swapParts(base.copy, model) }
          return part.undo(model)
        }
        return undone + base.undo(model)
      },
      end: { model in
        base.end(model)
        for part in parts { part.end(model) }
      },
      free: {})
  }
}
