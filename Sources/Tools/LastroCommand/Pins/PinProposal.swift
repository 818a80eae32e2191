// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A proposed policy: the keys of the leaf and its issuer, or those of the given files.
struct PinProposal {
  /// The placeholder for an unknown host.
  static let placeholder = "example.com"

  let configuration: ServerTrustEvaluator.Configuration
  let swift: String
  /// The advice for completing the policy, in one line.
  let advice: String

  /// Creates a proposal. Returns `nil` if no key is usable.
  ///
  /// - Parameters:
  ///   - keys: the keys found; unusable ones are skipped.
  ///   - host: the host; `nil` for files.
  init?(_ keys: [PinnableKey], host: HostName?) throws {
    let usable = keys.filter(\.isUsable)
    let candidates = host == nil ? usable : Array(usable.prefix(2))
    guard !candidates.isEmpty else { return nil }
    let pins = Set(candidates.map(\.pin.description))
    let isAlone = pins.count == 1
    let policy = try PinningPolicy(host?.text ?? Self.placeholder, pins: pins, enforceBackupPin: !isAlone)
    configuration = try .init(pinningPolicies: [policy])
    swift = Self.source(policy, candidates)
    let name = host == nil ? "put your host for \(Self.placeholder); " : ""
    advice =
      name
      + (isAlone
        ? "add the pin of a backup key that is kept apart, and drop enforceBackupPin: with the loss of a single key the "
          + "host is cut off"
        : "keep what you are sure of: a leaf's key may change with its certificate, an issuer's vouches for its other "
          + "customers too; and add the pin of a backup key that is in no chain")
  }

  /// Returns the policy as Swift source, with the pins in the order of the chain, a comment for each, and a line for
  /// the backup pin.
  private static func source(_ policy: PinningPolicy, _ candidates: [PinnableKey]) -> String {
    var seen: Set<SPKIHash> = []
    let pins = candidates.filter { seen.insert($0.pin).inserted }.map { "    \"\($0.pin)\",  // \($0.comment)" }
    let backup = "    // \"sha256/…\",  // backup key, in no chain: lastro pins --cert backup.csr"
    return policy.swiftSource.split(separator: "\n").filter { !$0.hasPrefix("    \"") }.flatMap { line in
      line.hasPrefix("  ]") ? pins + [backup, String(line)] : [String(line)]
    }.joined(separator: "\n")
  }
}
