// SPDX-License-Identifier: Apache-2.0

/// What the carriers of a loop share.
///
/// A class, because each exchange takes it along: a struct would be five retains.
final class CarrierContext {
  let settings: LoopSettings
  let load: LoadCounter
  let clock: LoopClock
  let deliveries: Deliveries
  let bodies: BodyBlockStore

  init(
    settings: LoopSettings, load: LoadCounter, clock: LoopClock, deliveries: Deliveries, bodies: BodyBlockStore
  ) {
    self.settings = settings
    self.load = load
    self.clock = clock
    self.deliveries = deliveries
    self.bodies = bodies
  }
}
