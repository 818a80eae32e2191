// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

extension Page {
  static let pinning = Page("Pinning") { stage in
    let site = try Site(stage)
    try await finding(stage, site)
    try await holding(stage, site)
    try writing(stage, site)
    try await rollingOut(stage, site)
    try await rotating(stage, Site(stage))
    try await checking(stage, site)
    try await judging(stage)
  }
}

/// Pins that match no server's key.
private let backup = "sha256/YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg="
private let stranger = "sha256/r/mIkG3eEpVdm+u/ko/cwxzOMo1bk4TyHIlByibiA5E="

private func policy(_ pins: String...) throws -> PinningPolicy {
  try PinningPolicy("example.com", includeSubdomains: true, pins: pins)
}

private func error(of bank: CurlNetworkStack, at resource: HTTPResource<String, BankError> = .balance) async
  -> HTTPFetchError<BankError>?
{
  do {
    _ = try await bank.fetch(resource)
    return nil
  } catch {
    return error
  }
}

private func finding(_ stage: Stage, _ site: Site) async throws {
  let stack = try site.stack()
  try await stage.prints("inspect") { try await showKeys(stack) }
  stage.check("an inspection sends nothing", site.server.receivedBytes == 0)
  let leaf = try site.certificate.pin
  stage.check("the first pin is the leaf's", try await stack.inspect("https://\(Site.name)").chain[0].pin == leaf)
  stage.check("a backup's pin is known before it has a certificate", (try? pin(ofBackup: "no PEM")) == nil)
  stage.check("a certificate's pin is its key's", try pin(ofBackup: site.certificate.certificatePEM) == leaf)
}

private func holding(_ stage: Stage, _ site: Site) async throws {
  let (bank, _) = try makeBank(site.engine, try policy(site.issuer.identity.pin.description, backup))
  try await stage.prints("fetch") { try await fetchPinned(bank) }
  let (refusing, evaluator) = try makeBank(site.engine, literalPolicy())
  let before = site.server.receivedBytes
  try await stage.prints("refusal") { try await fetchRefused(refusing) }
  let error = await error(of: refusing)
  stage.check("it was tried once, and nothing was sent", error?.ledger.attempts.map(\.requestSent) == [false])
  stage.check("the server has seen nothing", site.server.receivedBytes == before)
  stage.check("every refusal is counted", evaluator.statistics.policies.values.first?.blocked == 2)
  let plain = await stage.failureWords(of: refusing, at: "http://\(Site.name)/balance")
  stage.check("plain http is refused", plain == "trust/plaintext_refused")
  let elsewhere = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [literalPolicy()]))
  let strict = try site.stack { $0.trustJudge = elsewhere }
  let unknown = await stage.failureWords(of: strict, at: "https://192.0.2.7/")
  stage.check("a host without a policy is refused by default", unknown == "trust/host_not_pinned")
}

extension Stage {
  fileprivate func failureWords(of bank: CurlNetworkStack, at url: String) async -> String {
    await failure(of: .balance(at: url), from: bank)?.words ?? ""
  }
}

private func writing(_ stage: Stage, _ site: Site) throws {
  let configuration = try ServerTrustEvaluator.Configuration(
    pinningPolicies: [literalPolicy()], allowNotPinnedDomains: true)
  let path = try stage.socketPath() + ".json"
  try Data(configuration.json().utf8).write(to: URL(filePath: path))
  stage.check("what is written is read", try read(path) == configuration)
  stage.check("an expiration is kept", try expire([stranger, backup]).expiration != .never)
}

private func rollingOut(_ stage: Stage, _ site: Site) async throws {
  await stage.prints("json") { _ = try? writeJSON(literalPolicy()) }
  await stage.prints("hosts") { _ = try? explainHosts(ours: [stranger, backup], payments: [stranger]) }
  let reports = AsyncStream.makeStream(of: TrustReport.self)
  let evaluator = try watch([stranger, backup]) { reports.continuation.yield($0) }
  let bank = try site.stack { $0.trustJudge = evaluator }
  stage.check("a request passes", try await bank.fetch(.balance).response.facts.trust == .reported)
  for await report in reports.stream {
    stage.check("and is reported", !report.isEnforced && report.failure.reason == .noPinMatches)
    break
  }
  await stage.prints("statistics") { count(evaluator) }
}

private func rotating(_ stage: Stage, _ site: Site) async throws {
  let next = try site.renewed()
  let now = try site.certificate.pin.description, then = try next.pin.description
  let (bank, evaluator) = try makeBank(site.engine, try policy(now, backup))
  stage.check("the old key holds", try await bank.fetch(.balance).response.facts.trust == .pinned)
  let both = try ServerTrustEvaluator.Configuration(pinningPolicies: [policy(now, then, backup)])
  let path = try stage.socketPath() + ".json"
  try Data(both.json().utf8).write(to: URL(filePath: path))
  try swap(evaluator, path: path)
  let swapped = try await bank.fetch(.balance).response.facts
  stage.check("after a swap the next request has a connection of its own", !swapped.connectionReused)
  try site.server.replaceTLS(LoopbackTLS(next))
  let fresh = try makeBank(site.engine, policy(now, then, backup)).0
  stage.check("the new key holds", try await fresh.fetch(.balance).response.facts.trust == .pinned)
  evaluator.configuration = try .init(pinningPolicies: [policy(then, backup)])
  stage.check("the old pin is gone", try await bank.fetch(.balance).response.facts.trust == .pinned)
  try site.server.replaceTLS(LoopbackTLS(site.certificate))
  evaluator.configuration = try .init(pinningPolicies: [policy(then, stranger)])
  let late = await error(of: bank)?.words
  stage.check("a server that comes with the old key is refused", late == "trust/pin_mismatch")
}

private func checking(_ stage: Stage, _ site: Site) async throws {
  let leafOnly = try ServerTrustEvaluator.Configuration(
    pinningPolicies: [policy(try site.certificate.pin.description, stranger)])
  let stack = try site.stack()
  await stage.prints("lint") {
    do { try await checkPins(leafOnly, through: stack) } catch { print(error) }
  }
  let good = try ServerTrustEvaluator.Configuration(
    pinningPolicies: [policy(try site.issuer.identity.pin.description, backup)])
  try await checkPins(good, through: stack)
}

private func judging(_ stage: Stage) async throws {
  let short = try Site(stage, keyType: .rsa2048), long = try Site(stage)
  let old = try short.stack { $0.trustJudge = NoShortKeys() }
  let error = await error(of: old)
  stage.check("a judge of one's own refuses", error?.words == "trust/trust_refused")
  await stage.prints("judge") { if let error { print(error) } }
  let fetched = try await long.stack { $0.trustJudge = NoShortKeys() }.fetch(.balance)
  stage.check("and accepts", fetched.response.facts.trust == .validated)
}
