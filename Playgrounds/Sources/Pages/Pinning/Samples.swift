// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl

func showKeys(_ stack: CurlNetworkStack) async throws {
  // sample: inspect
  let trust = try await stack.inspect("https://api.example.com")
  for certificate in trust.chain { print(certificate.pin, certificate.facts?.subject ?? "") }
  // end
}

func literalPolicy() throws -> PinningPolicy {
  // sample: policy
  let policy = try PinningPolicy(
    "example.com",
    includeSubdomains: true,
    pins: [
      "sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E=",  // our issuing authority
      "sha256/YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=",  // the backup: its private key lies in a safe
    ])
  // end
  return policy
}

func shortPins(key: String, backup: String) throws -> CurlNetworkStack {
  // sample: short
  let policy = try PinningPolicy("api.example.com", pins: [key, backup])
  let bank = try CurlNetworkStack(CurlConfiguration(pins: [policy]))
  // end
  return bank
}

func makeBank(_ engine: CurlConfiguration, _ policy: PinningPolicy) throws -> (CurlNetworkStack, ServerTrustEvaluator) {
  var engine = engine
  // sample: stack
  let evaluator = ServerTrustEvaluator(
    configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
  engine.connection.tls.trustJudge = evaluator
  let bank = try CurlNetworkStack(engine)
  // end
  return (bank, evaluator)
}

func fetchPinned(_ bank: CurlNetworkStack) async throws {
  // sample: fetch
  let balance = try await bank.fetch(.balance)
  print(balance.value, balance.response.facts.trust?.rawValue ?? "")
  // end
}

func fetchRefused(_ bank: CurlNetworkStack) async throws {
  // sample: refusal
  do throws(HTTPFetchError<BankError>) {
    _ = try await bank.fetch(.balance)
  } catch {
    print(error)
    if let failure = error.trustFailure { print(failure) }
  }
  // end
}

func writeJSON(_ policy: PinningPolicy) throws -> ServerTrustEvaluator.Configuration {
  let configuration = try ServerTrustEvaluator.Configuration(pinningPolicies: [policy], allowNotPinnedDomains: true)
  // sample: json
  print(configuration.json())
  // end
  return configuration
}

func read(_ path: String) throws -> ServerTrustEvaluator.Configuration {
  // sample: file
  let configuration = try ServerTrustEvaluator.Configuration(contentsOfFile: path)
  // end
  return configuration
}

func explainHosts(ours: Set<String>, payments: Set<String>) throws -> ServerTrustEvaluator {
  // sample: hosts
  let configuration = try ServerTrustEvaluator.Configuration(
    pinningPolicies: [
      PinningPolicy("example.com", includeSubdomains: true, pins: ours),
      PinningPolicy("pay.example.com", pins: payments, enforceBackupPin: false),
      .excluding("status.example.com"),
      PinningPolicy("192.0.2.7", pins: ours),
    ],
    allowNotPinnedDomains: true)
  let evaluator = ServerTrustEvaluator(configuration: configuration)
  for name in ["a.b.example.com", "PAY.example.com.", "status.example.com", "192.0.2.7", "example.org"] {
    print("\(name): \(evaluator.explanation(for: try HostName(name)))")
  }
  // end
  return evaluator
}

func expire(_ pins: Set<String>) throws -> PinningPolicy {
  // sample: expiration
  let end = try Date("2027-06-30T00:00:00Z", strategy: .iso8601)
  let policy = try PinningPolicy("example.com", expiration: .fallBack(after: end), pins: pins)
  // end
  return policy
}

func watch(
  _ pins: Set<String>, _ alert: @escaping @Sendable (TrustReport) async -> Void
) throws -> ServerTrustEvaluator {
  // sample: report only
  let policy = try PinningPolicy(
    "example.com", includeSubdomains: true, pins: pins, mode: .reportOnly)
  let evaluator = ServerTrustEvaluator(
    configuration: try .init(pinningPolicies: [policy], allowNotPinnedDomains: true)
  ) { report in
    await alert(report)
  }
  // end
  return evaluator
}

func count(_ evaluator: ServerTrustEvaluator) {
  // sample: statistics
  for (host, counts) in evaluator.statistics.policies {
    print("\(host): \(counts.pinned) pinned, \(counts.wouldHaveBlocked) would have been refused")
  }
  // end
}

func pin(ofBackup publicKey: String) throws -> SPKIHash {
  // sample: backup
  let backup = try SPKIHash(pem: publicKey)  // a public key, a certificate request, or a certificate
  // end
  return backup
}

func swap(_ evaluator: ServerTrustEvaluator, path: String) throws {
  // sample: swap
  evaluator.configuration = try .init(contentsOfFile: path)
  // end
}

// sample: lint
func checkPins(_ configuration: ServerTrustEvaluator.Configuration, through stack: CurlNetworkStack) async throws {
  let host = "api.example.com"
  let chain = try await stack.inspect("https://\(host)").chain
  try configuration.lint(served: [HostName(host): chain]).check()
}
// end

// sample: judge
final class NoShortKeys: ServerTrustJudge {
  func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
    for certificate in trust.chain {
      if let bits = certificate.facts?.rsaBits, bits < 3072 {
        throw TrustFailure(.refused("its chain has an RSA key of \(bits) bits"), trust: trust)
      }
    }
    return .validated
  }
}
// end
