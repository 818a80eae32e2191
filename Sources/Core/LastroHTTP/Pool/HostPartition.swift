// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The hosts that are reached with the same options.
///
/// Owner: ``HTTPEngine``. Thread: the loop's.
final class HostPartition {
  let options: SharedOptions
  // Unchecked because only the loop's thread uses the partition, and no look-up calls back into it.
  @exclusivity(unchecked) private(set) var hosts: [HostKey: HostPool] = [:]
  /// The hosts by their targets: requests may spell the same target in several ways.
  private var targets: [Target: HostPool] = [:]
  /// The proxies, which requests of many hosts share, by the keys of their routes.
  private(set) var proxies: [String: HostPool] = [:]
  /// The rule for dropping unused hosts.
  private(set) var cleanup: CleanupRule

  private struct Target: Hashable {
    var isTLS: Bool
    var host: TrustTarget
    var member: MemberAddress?
  }

  /// - Parameter rememberedHosts: the number of hosts up to which unused ones are kept.
  init(_ options: SharedOptions, rememberedHosts: Int) {
    self.options = options
    cleanup = CleanupRule(spare: rememberedHosts)
  }

  var isUnused: Bool { hosts.values.allSatisfy(\.isUnused) }

  /// Returns the host of a target that is known by another spelling, and adds the key for it; `nil` if there is none.
  func host(spelled key: HostKey, _ target: TrustTarget) -> HostPool? {
    let host = targets[Target(isTLS: key.isTLS, host: target, member: key.member)]
    if let host { hosts[key] = host }
    return host
  }

  func add(_ host: HostPool, for key: HostKey, _ target: TrustTarget) {
    hosts[key] = host
    targets[Target(isTLS: key.isTLS, host: target, member: key.member)] = host
    if host.route.proxy != nil { proxies[host.route.key] = host }
  }

  /// Drops the hosts that nothing uses.
  func forgetUnused() {
    hosts = hosts.filter { !$0.value.isUnused }
    targets = targets.filter { !$0.value.isUnused }
    proxies = proxies.filter { !$0.value.isUnused }
    cleanup.cleanedUp(keeping: hosts.count)
  }
}
