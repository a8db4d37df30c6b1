// Looking at the pages of an index, whether a server has it open or not.
import Glibc

struct IndexPages {
  let layout: Layout
  let calls: SystemCalls

  /// What is wrong with the index's pages; empty when LMDB may be let near them.
  ///
  /// - Parameter isOurs: whether the store's lock is held by who asks, so that nobody writes.
  func damage(isOurs: Bool) throws(StoreOpenError) -> [PageDamage] {
    let descriptor = try calls.openNeeded(layout.indexData, flags: O_RDONLY)
    defer { close(descriptor) }
    if isOurs { return damage(descriptor) }
    // While a server writes, a snapshot must be held whose pages stay as they are.
    if StoreLock.isTaken(layout, calls) { return try damageOfSnapshot(descriptor) }
    let found = damage(descriptor)
    // It may have been started meanwhile.
    guard !found.isEmpty, StoreLock.isTaken(layout, calls) else { return found }
    return try damageOfSnapshot(descriptor)
  }

  private func damage(_ descriptor: Int32) -> [PageDamage] {
    do throws(PageDamage) {
      var walk = try PageWalk.newest(descriptor, calls: calls, depth: .all)
      walk.run { _, _, _ in }
      return walk.damage
    } catch {
      return [error]
    }
  }

  private func damageOfSnapshot(_ descriptor: Int32) throws(StoreOpenError) -> [PageDamage] {
    do throws(IndexError) {
      let index = try Index(directory: layout.index, mapBytes: 4 << 30, mode: .readOnly)
      defer { index.close() }
      // Its head is one of the two until the second commit from now.
      for _ in 0..<100 {
        let found = try index.read { reader -> [PageDamage]? in
          let (first, second) = PageWalk.heads(descriptor, calls)
          let heads = [first, second].compactMap { try? $0.get() }
          guard let head = heads.first(where: { $0.transaction == reader.snapshot }) else { return nil }
          do throws(PageDamage) {
            var walk = try PageWalk.from(head, descriptor, calls: calls, depth: .all)
            walk.run { _, _, _ in }
            return walk.damage
          } catch {
            return [error]
          }
        }
        if let found { return found }
      }
      return [PageDamage(page: 0, reason: "the heads of the index do not tell the snapshot that is read")]
    } catch {
      throw StoreOpenError(error, layout)
    }
  }
}
