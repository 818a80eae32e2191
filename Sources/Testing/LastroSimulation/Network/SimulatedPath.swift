// SPDX-License-Identifier: Apache-2.0

/// The path of one connection, or of a dial, between a client and a server of a simulation.
final class SimulatedPath: MemoryPath {
  private struct Held {
    var count: Int
    var toPeer: Bool
    var arrive: () -> Void
  }

  let client: MachineCore
  let server: MachineCore
  private unowned let network: SimulatedNetwork
  /// Called when bytes arrive at a machine whose program has crashed since the path was made: its system answers.
  var serverIsGone: () -> Void = {}
  /// The starts of the machines that the ends belong to.
  private let owners: (client: Scheduler.Owner, server: Scheduler.Owner)
  /// The latest arrival in each direction, because no write overtakes an earlier one.
  private var latest: (toPeer: Int64, toClient: Int64) = (0, 0)
  /// The time at which each direction has carried all bytes so far.
  private var carried: (toPeer: Int64, toClient: Int64) = (0, 0)
  /// The writes that have not arrived, in order.
  private var underWay: (toPeer: [() -> Void], toClient: [() -> Void]) = ([], [])
  /// The writes that a partition holds back, in order.
  private var held: [Held] = []

  /// - Parameter owner: the start of the server that is connected to.
  init(_ network: SimulatedNetwork, from client: MachineCore, to server: MachineCore, _ owner: Scheduler.Owner) {
    self.network = network
    self.client = client
    self.server = server
    owners = (client.owner, owner)
  }

  func carry(_ count: Int, toPeer: Bool, _ arrive: @escaping () -> Void) {
    if !held.isEmpty || network.isCut(client, server) {
      held.append(Held(count: count, toPeer: toPeer, arrive: arrive))
      network.keep(self)
    } else {
      send(count, toPeer: toPeer, arrive)
    }
  }

  /// Sends what a partition has held back.
  func resume() {
    let writes = held
    held = []
    for write in writes { send(write.count, toPeer: write.toPeer, write.arrive) }
  }

  private func send(_ count: Int, toPeer: Bool, _ arrive: @escaping () -> Void) {
    let scheduler = network.scheduler
    let conditions = network.conditions(client, server)
    var leaves = scheduler.now
    if let rate = conditions.bytesPerSecond {
      leaves = max(leaves, toPeer ? carried.toPeer : carried.toClient)
      leaves += Int64(Double(count) / Double(max(1, rate)) * 1e9)
      if toPeer { carried.toPeer = leaves } else { carried.toClient = leaves }
    }
    let arrival = max(leaves + network.travelTime(conditions), toPeer ? latest.toPeer : latest.toClient)
    if toPeer {
      latest.toPeer = arrival
      underWay.toPeer.append(arrive)
    } else {
      latest.toClient = arrival
      underWay.toClient.append(arrive)
    }
    scheduler.perform(for: Scheduler.world, at: arrival) { [self] in
      let owner = toPeer ? owners.server : owners.client
      if toPeer, scheduler.state(of: owner) == .crashed { return serverIsGone() }
      // Events at the same time run in any order, so each delivers the earliest write.
      scheduler.perform(for: owner) { [self] in deliver(toPeer: toPeer) }
    }
  }

  private func deliver(toPeer: Bool) {
    guard !(toPeer ? underWay.toPeer : underWay.toClient).isEmpty else { return }
    let arrive = toPeer ? underWay.toPeer.removeFirst() : underWay.toClient.removeFirst()
    arrive()
  }

  /// Drops everything that has not arrived, for the end of a simulation.
  func forgetAll() {
    held = []
    underWay = ([], [])
    serverIsGone = {}
  }
}
