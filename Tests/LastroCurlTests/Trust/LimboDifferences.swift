// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl

/// Where we judge a chain otherwise than x509-limbo, and why.
enum LimboDifferences {
  enum Reason: Sendable {
    // Accepted, although the case says no.

    /// Binds who issues certificates (CA/Browser Forum, or RFC 5280's words for conforming authorities) in a form that
    /// no client of OpenSSL enforces. The signatures are good, the names match, the constraints hold.
    case rulesForIssuers
    /// The same, and OpenSSL's strict checks (`X509_V_FLAG_X509_STRICT`) enforce it.
    case onlyWhenStrict
    /// The same, of an authority without a name. libcurl before 8.11 refuses it by itself, after OpenSSL has accepted it.
    case namelessIssuer
    /// The roots hold a certificate that names an unknown issuer, or another key as its issuer's. A root is trusted
    /// because it is among the roots (`X509_V_FLAG_PARTIAL_CHAIN`, which libcurl sets), whatever it says of its issuer.
    case trustedAsItIs
    /// The case limits the length of chains; there is no such option.
    case noDepthLimit
    /// A wildcard that also covers an excluded name. OpenSSL compares the pattern itself with the constraint (and libcurl
    /// the host with the pattern); CVE-2025-61727 is the same in Go.
    case wildcardOverExcluded
    /// OpenSSL has no list of public suffixes. What must have two labels after the `*` has.
    case publicSuffix

    // Refused, as the case says, but elsewhere.

    /// The host is a symbol, which IDNA 2008 has no place for: there is no connection on which to judge anything.
    case noHost

    // Refused, although the case says yes.

    /// OpenSSL's purpose check: a server's certificate whose key usage does not allow signatures cannot serve TLS 1.3.
    case cannotServe
    /// OpenSSL builds one path, and does not go back for another when it turns out to be forbidden.
    case onePath
    /// Strict checks demand a key usage extension of authorities.
    case keyUsageOfAuthorities
  }

  /// By id, with the checks that are always made.
  static let standard: [String: Reason] = Dictionary(
    uniqueKeysWithValues: table.flatMap { reason, ids in ids.map { ($0, reason) } }
  ).filter { $0.value != .namelessIssuer || takesNamelessIssuers }

  private static let takesNamelessIssuers: Bool = {
    let version = CurlCapabilities.current.curlVersion.split(separator: ".").compactMap { Int($0) }
    return !version.lexicographicallyPrecedes([8, 11])
  }()

  /// By id, with strict checks.
  static let strict: [String: Reason] = {
    var known = standard.filter { ![.onlyWhenStrict, .namelessIssuer].contains($0.value) }
    known["crl::issuer-no-keyusage-extension"] = .keyUsageOfAuthorities
    return known
  }()

  private static let table: [(Reason, [String])] = [
    (
      .rulesForIssuers,
      [
        "rfc5280::nc::permitted-dns-match-noncritical", "rfc5280::nc::invalid-dnsname-leading-period",
        "rfc5280::nc::not-allowed-in-ee-noncritical", "rfc5280::nc::not-allowed-in-ee-critical",
        "rfc5280::nc::nc-permits-invalid-dns-san", "rfc5280::pc::ica-noncritical-pc", "rfc5280::san::underscore-dns",
        "rfc5280::serial::too-long", "rfc5280::serial::zero", "webpki::aki::root-with-aki-missing-keyidentifier",
        "webpki::cn::ipv4-hex-mismatch", "webpki::cn::ipv4-leading-zeros-mismatch",
        "webpki::cn::ipv6-uppercase-mismatch", "webpki::cn::ipv6-uncompressed-mismatch",
        "webpki::cn::ipv6-non-rfc5952-mismatch", "webpki::cn::utf8-vs-punycode-mismatch", "webpki::cn::not-in-san",
        "webpki::cn::case-mismatch",
        "webpki::eku::ee-anyeku", "webpki::eku::ee-critical-eku", "webpki::eku::ee-without-eku",
        "webpki::eku::root-has-eku", "webpki::nc::intermediate-permitted-excluded-subtrees-both-null",
        "webpki::nc::intermediate-permitted-excluded-subtrees-both-empty-sequences",
        "webpki::san::san-critical-with-nonempty-subject", "webpki::malformed-aia", "webpki::forbidden-dsa-root",
        "webpki::forbidden-rsa-not-divisible-by-8-in-root", "webpki::forbidden-rsa-key-not-divisible-by-8-in-leaf",
        "webpki::ee-basicconstraints-ca",
      ]
    ),
    (
      .onlyWhenStrict,
      [
        "rfc5280::aki::leaf-missing-aki", "rfc5280::aki::intermediate-missing-aki",
        "rfc5280::san::noncritical-with-empty-subject", "rfc5280::ski::root-missing-ski",
        "rfc5280::ski::intermediate-missing-ski", "rfc5280::root-missing-basic-constraints",
        "rfc5280::root-non-critical-basic-constraints", "rfc5280::leaf-ku-keycertsign",
      ]
    ),
    (.namelessIssuer, ["rfc5280::ca-empty-subject"]),
    (
      .trustedAsItIs,
      [
        "rfc5280::aki::cross-signed-root-missing-aki", "webpki::aki::root-with-aki-authoritycertissuer",
        "webpki::aki::root-with-aki-authoritycertserialnumber", "webpki::aki::root-with-aki-all-fields",
        "webpki::aki::root-with-aki-ski-mismatch",
      ]
    ),
    (.noDepthLimit, ["pathlen::max-chain-depth-0-exhausted", "pathlen::max-chain-depth-1-exhausted"]),
    (.wildcardOverExcluded, ["cve::cve-2025-61727", "rfc5280::nc::nc-forbids-dnsname-wildcard-san"]),
    (
      .noHost,
      [
        "webpki::cn::punycode-not-in-san", "webpki::san::unicode-emoji-san",
        "webpki::san::wildcard-embedded-ulabel-san",
      ]
    ),
    (
      .publicSuffix,
      [
        "webpki::san::public-suffix-multi-label-wildcard-san",
        "webpki::san::public-suffix-private-namespace-wildcard-san",
      ]
    ),
    (.cannotServe, ["pathlen::validation-ignores-pathlen-in-leaf", "rfc5280::ca-as-leaf"]),
    (.onePath, ["rfc5280::nc::nc-forbids-alternate-chain-ica", "rfc5280::nc::nc-forbids-same-chain-ica"]),
  ]
}
