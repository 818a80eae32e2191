// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroCurl

/// The flags for the keys that hosts must present. They apply to the whole stack: to every request, redirect and proxy.
struct PinFlags: ParsableArguments {
  @Option(
    help: "Key that a host must present, as HOST=sha256/…. Repeatable, also for one host; other hosts are not pinned.")
  var pin: [String] = []
  @Flag(name: .customLong("pin-subdomains"), help: "Apply --pin to subdomains, too.")
  var pinSubdomains = false
  @Option(
    name: .customLong("pin-policy"), help: "JSON file of pinning policies, which also decides about hosts without one.")
  var pinPolicy: String?
  @Flag(name: .customLong("report-only"), help: "Report on standard error what pins would refuse, and continue.")
  var reportOnly = false

  /// Whether there are pins, enforced or only reported.
  var judges: Bool { !pin.isEmpty || pinPolicy != nil }

  func validate() throws {
    guard pin.isEmpty || pinPolicy == nil else {
      throw ValidationError("--pin and --pin-policy exclude each other: add the key to the file.")
    }
    if pinSubdomains, pin.isEmpty {
      throw ValidationError("--pin-subdomains applies to --pin HOST=sha256/… only; in a file write includeSubdomains.")
    }
    if reportOnly, !judges {
      throw ValidationError("--report-only needs pins: give --pin HOST=sha256/… or --pin-policy FILE.")
    }
    _ = try policies()
  }

  /// Returns the judge for these pins; `nil` if there are none.
  ///
  /// - Throws: `ConfigurationError` for an invalid file.
  func judge() throws -> PinJudge? {
    var configuration: ServerTrustEvaluator.Configuration
    if let pinPolicy {
      configuration = try .init(contentsOfFile: pinPolicy)
    } else if !pin.isEmpty {
      configuration = try .init(pinningPolicies: try policies(), allowNotPinnedDomains: true)
    } else {
      return nil
    }
    return try PinJudge(configuration, reportsOnly: reportOnly)
  }

  /// Returns the enforced pins as texts for cache keys: a response fetched without pins must not be served with them.
  func rules() -> [String] {
    guard !reportOnly else { return [] }
    if let pinPolicy {
      // An unreadable file is refused where it is used.
      return ["pins \(String(decoding: FileManager.default.contents(atPath: pinPolicy) ?? Data(), as: UTF8.self))"]
    }
    return pin.isEmpty ? [] : ["pins \(pin.sorted())\(pinSubdomains ? " and subdomains" : "")"]
  }

  /// Returns the options of an engine whose servers these pins judge.
  func engine(_ judge: PinJudge?) -> CurlConfiguration {
    var engine = CurlConfiguration()
    engine.connection.tls.trustJudge = judge
    return engine
  }

  /// Returns one policy per host, in the order of the hosts.
  private func policies() throws -> [PinningPolicy] {
    var hosts: [HostName] = []
    var pins: [HostName: Set<String>] = [:]
    for text in pin {
      let (host, hash) = try Self.pair(text)
      if pins[host] == nil { hosts.append(host) }
      pins[host, default: []].insert(hash)
    }
    return try hosts.map { host in
      let hashes = pins[host] ?? []
      do throws(PinningPolicyValidationError) {
        return try PinningPolicy(host.text, includeSubdomains: pinSubdomains, pins: hashes, enforceBackupPin: false)
      } catch .subdomainsOfAddress {
        throw ValidationError("--pin \(host): an IP address has no subdomains; drop --pin-subdomains.")
      } catch .publicSuffix {
        throw ValidationError(
          "--pin \(host): anyone may register a name below it, so its subdomains cannot be pinned; "
            + "drop --pin-subdomains.")
      } catch {
        throw ValidationError("--pin \(host): \(error)")
      }
    }
  }

  /// Parses `HOST=sha256/…`. Splits at the first `=`, because Base64 may end with others.
  private static func pair(_ text: String) throws -> (HostName, String) {
    guard let equals = text.firstIndex(of: "=") else {
      throw ValidationError(
        "--pin \(text.onOneLine) has no =; write HOST=sha256/…; 'lastro pins HOST' prints the keys of a host.")
    }
    let (name, hash) = (String(text[..<equals]), String(text[text.index(after: equals)...]))
    let host: HostName
    do {
      host = try HostName(name)
    } catch {
      throw ValidationError("--pin \(text.onOneLine): \(error)")
    }
    guard SPKIHash(hash) != nil else {
      let slash = hash.hasPrefix("sha256//") ? ", with one slash" : ""
      throw ValidationError(
        "--pin \(text.onOneLine): \"\(hash.onOneLine)\" is not a pin; write sha256/\(slash) and the Base64 of 32 bytes "
          + "with its final =.")
    }
    return (host, hash)
  }
}
