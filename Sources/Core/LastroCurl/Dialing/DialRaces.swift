// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The races of a loop, and the addresses that they could not connect to. A race is a dial whose addresses a resolver
/// supplies.
///
/// Owner: ``StreamHub``. Thread: the loop's.
final class DialRaces {
  /// The races that have not ended, by the ids of their dials.
  private(set) var running: [UInt64: DialRace] = [:]
  /// The addresses that later races try last.
  var deadAddresses = DeadAddresses<DeadAddressKey>()

  /// Starts a race if a resolver supplies the addresses of a dial. Returns false if no resolver does.
  ///
  /// - Parameter hub: the hub that dials the addresses.
  func start(_ dial: StreamDial, _ profile: StreamProfile, for hub: StreamHub) -> Bool {
    guard let source = profile.options.reach.names, dial.address == nil,
      profile.applier.resolvesName(of: dial.host, port: dial.request.port, isTLS: dial.request.tls != nil)
    else { return false }
    let race = DialRace(dial, asking: source, rules: profile.applier.egressRules, hub: hub)
    running[dial.id] = race
    race.addDeadline()
    race.start()
    return true
  }

  /// Removes a race that has ended. Returns false if there is none.
  @discardableResult
  func remove(_ id: UInt64) -> Bool { running.removeValue(forKey: id) != nil }

  /// Adds the deadlines of all races to those of the hub.
  func addDeadlines() {
    for race in running.values { race.addDeadline() }
  }

  /// Releases all races.
  func removeAll() { running = [:] }
}

extension OptionApplier {
  /// Returns whether the name of a host is resolved locally and has no fixed answer.
  func resolvesName(of host: HostName, port: Int, isTLS: Bool) -> Bool {
    if host.isIPAddress || options.unixSocketPath != nil { return false }
    let isFixed = options.resolutions.contains { $0.port == port && (try? HostName($0.host)) == host }
    return !isFixed && proxy(isTLS: isTLS, authority: "\(host.text.bracketedHost):\(port)").isEmpty
  }
}
