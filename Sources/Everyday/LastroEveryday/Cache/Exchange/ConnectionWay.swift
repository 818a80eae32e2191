// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroWire

/// The connection options of a request as a text, which is part of the keys of stored responses.
///
/// The options decide which server responds, who can see or change a response in transit, and which certificates are
/// trusted. So a response fetched with some options does not answer a request with others. Apart from a client
/// certificate, the options are not credentials.
enum ConnectionWay {
  /// Returns the text; empty for the default options. Custom objects in the options have no text.
  static func text(_ options: ConnectionOptions) -> String {
    var parts: [String] = []
    if let path = options.unixSocketPath { parts.append("socket \(path)") }
    for resolution in options.resolutions {
      parts.append("resolution \(resolution.host):\(resolution.port) \(resolution.addresses.joined(separator: ","))")
    }
    if let name = options.reach.names?.name { parts.append("names of \(name)") }
    if let identity = options.tls.identity { parts.append("identity \(text(identity))") }
    for (host, identity) in options.tls.hostIdentities.sorted(by: { $0.key < $1.key }) {
      parts.append("identity of \(host) \(text(identity))")
    }
    switch options.tls.roots {
    case .system: break
    case .file(let path): parts.append("roots \(version(ofFile: path))")
    case .directory(let path): parts.append("roots in \(entries(path).map(version).joined(separator: " "))")
    case .pem(let bytes): parts.append("roots \(String(decoding: bytes, as: UTF8.self))")
    }
    return (parts + rules(options)).map { $0 + "\n" }.joined()
  }

  /// Returns the options that decide which connections may be made. They must be in the key: serving from the cache
  /// makes no connection that could check them.
  private static func rules(_ options: ConnectionOptions) -> [String] {
    var parts: [String] = []
    switch options.proxy {
    case .environment: break
    case .environmentBypassing(let hosts): parts.append("proxy but for \(hosts)")
    case .none: parts.append("no proxy")
    case .url(let url, let bypass): parts.append("proxy \(url) but for \(bypass)")
    }
    if let interface = options.localInterface { parts.append("from \(interface)") }
    if let egress = options.reach.egress { parts.append("egress \(egress)") }
    let tls = options.tls
    if tls.peer != .hostName { parts.append("peer \(tls.peer)") }
    if tls.minimumVersion != .v1_2 || tls.requiresStrictChain || tls.requiresStapledStatus {
      parts.append("tls \(tls.minimumVersion) \(tls.requiresStrictChain) \(tls.requiresStapledStatus)")
    }
    if let newest = tls.maximumVersion { parts.append("tls up to \(newest)") }
    for ciphers in [tls.legacyCiphers, tls.cipherSuites] {
      if let ciphers { parts.append("ciphers \(ciphers)") }
    }
    return parts
  }

  private static func text(_ identity: TLSOptions.Identity) -> String {
    [identity.certificate, identity.key].compactMap(\.self).map { pem in
      switch pem {
      case .file(let path): version(ofFile: path)
      case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
      }
    }.joined(separator: " ")
  }

  /// Returns the identity of the file at a path and the version of its content. The path is not enough: the file may be
  /// replaced later, and a relative path means another file in another process.
  private static func version(ofFile path: String) -> String {
    var facts = stat()
    guard stat(path, &facts) == 0 else { return "missing \(path)" }
    let time = facts.st_mtim
    return "file \(facts.st_dev) \(facts.st_ino) \(facts.st_size) \(time.tv_sec).\(time.tv_nsec)"
  }

  /// Returns the paths of a directory's files, sorted.
  private static func entries(_ path: String) -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return [path] }
    return names.map { "\(path)/\($0)" }.sorted()
  }
}
