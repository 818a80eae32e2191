// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The client certificates, by host.
struct ClientIdentities {
  private let byHost: [HostName: TLSOptions.Identity]
  private let otherwise: TLSOptions.Identity?

  init(_ options: TLSOptions) throws(TransportError) {
    otherwise = options.identity
    var byHost: [HostName: TLSOptions.Identity] = [:]
    for (name, identity) in options.hostIdentities.sorted(by: { $0.key < $1.key }) {
      let host: HostName
      do {
        host = try HostName(name)
      } catch {
        throw .invalidTLSOptions(
          "the host \"\(name)\" of a client certificate is not valid: \(error.message)", hint: error.hint)
      }
      guard byHost.updateValue(identity, forKey: host) == nil else {
        throw .invalidTLSOptions("two client certificates are for \(host)", hint: "name each host once")
      }
    }
    self.byHost = byHost
  }

  func identity(for host: HostName) -> TLSOptions.Identity? { byHost[host] ?? otherwise }
}
