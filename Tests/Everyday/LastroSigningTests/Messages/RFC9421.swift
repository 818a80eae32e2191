// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

@testable import Lastro
@testable import LastroSigning

/// The keys, messages and signatures of RFC 9421, appendix B.
enum RFC9421 {
  struct Vector: Sendable {
    var section: String
    var keyID: String
    var input: String
    var signature: String
    /// Whether the algorithm always makes the same signature.
    var isFixed: Bool
    var isResponse = false
  }

  static let created: Int64 = 1_618_884_473

  static let rsaPublic = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAr4tmm3r20Wd/PbqvP1s2
    +QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry53mm+
    oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7OyrFAHq
    gDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUAAN5W
    Utzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw9lq4
    aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oyc6XI
    2wIDAQAB
    -----END PUBLIC KEY-----
    """
  /// The public half of the same key with its restriction to PSS, which RFC 9421 leaves out.
  static let rsaPSSPublic = """
    -----BEGIN PUBLIC KEY-----
    MIIBIDALBgkqhkiG9w0BAQoDggEPADCCAQoCggEBAK+LZpt69tFnfz26rz9bNvkB
    Lb6bkWlfGKuNII1EfMtkY8WunaRthlx2z37zLPHLfi4dRh+OcdvEcN0cud5pvqAF
    48kPOjpw5GeTfJWG4IA+Dt8OjOqQLy5IZPeQJ3U64n2yBTzVPDzzDuzsqxQB6oA7
    M54zxZkzrQhHDdmdRaVoHIcLmCzy/lqJKpbXddZ6qs4vmyfXL0igA2HVAADeVlLc
    3aYsui204EsT+6HIlOE59IOSOmg2SewPC86NCksmWKAOPOZqnDtBlQHVcPZauGjk
    /b+nfp2+G5zZEFZJS0N31QLyZvsXQzqfSwjQjePFdqZwzpBVevlPZ1eaMnOlyNsC
    AwEAAQ==
    -----END PUBLIC KEY-----
    """

  static let rsaPrivate = """
    -----BEGIN PRIVATE KEY-----
    MIIEvgIBADALBgkqhkiG9w0BAQoEggSqMIIEpgIBAAKCAQEAr4tmm3r20Wd/Pbqv
    P1s2+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry5
    3mm+oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7Oyr
    FAHqgDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUA
    AN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw
    9lq4aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oy
    c6XI2wIDAQABAoIBAQCUB8ip+kJiiZVKF8AqfB/aUP0jTAqOQewK1kKJ/iQCXBCq
    pbo360gvdt05H5VZ/RDVkEgO2k73VSsbulqezKs8RFs2tEmU+JgTI9MeQJPWcP6X
    aKy6LIYs0E2cWgp8GADgoBs8llBq0UhX0KffglIeek3n7Z6Gt4YFge2TAcW2WbN4
    XfK7lupFyo6HHyWRiYHMMARQXLJeOSdTn5aMBP0PO4bQyk5ORxTUSeOciPJUFktQ
    HkvGbym7KryEfwH8Tks0L7WhzyP60PL3xS9FNOJi9m+zztwYIXGDQuKM2GDsITeD
    2mI2oHoPMyAD0wdI7BwSVW18p1h+jgfc4dlexKYRAoGBAOVfuiEiOchGghV5vn5N
    RDNscAFnpHj1QgMr6/UG05RTgmcLfVsI1I4bSkbrIuVKviGGf7atlkROALOG/xRx
    DLadgBEeNyHL5lz6ihQaFJLVQ0u3U4SB67J0YtVO3R6lXcIjBDHuY8SjYJ7Ci6Z6
    vuDcoaEujnlrtUhaMxvSfcUJAoGBAMPsCHXte1uWNAqYad2WdLjPDlKtQJK1diCm
    rqmB2g8QE99hDOHItjDBEdpyFBKOIP+NpVtM2KLhRajjcL9Ph8jrID6XUqikQuVi
    4J9FV2m42jXMuioTT13idAILanYg8D3idvy/3isDVkON0X3UAVKrgMEne0hJpkPL
    FYqgetvDAoGBAKLQ6JZMbSe0pPIJkSamQhsehgL5Rs51iX4m1z7+sYFAJfhvN3Q/
    OGIHDRp6HjMUcxHpHw7U+S1TETxePwKLnLKj6hw8jnX2/nZRgWHzgVcY+sPsReRx
    NJVf+Cfh6yOtznfX00p+JWOXdSY8glSSHJwRAMog+hFGW1AYdt7w80XBAoGBAImR
    NUugqapgaEA8TrFxkJmngXYaAqpA0iYRA7kv3S4QavPBUGtFJHBNULzitydkNtVZ
    3w6hgce0h9YThTo/nKc+OZDZbgfN9s7cQ75x0PQCAO4fx2P91Q+mDzDUVTeG30mE
    t2m3S0dGe47JiJxifV9P3wNBNrZGSIF3mrORBVNDAoGBAI0QKn2Iv7Sgo4T/XjND
    dl2kZTXqGAk8dOhpUiw/HdM3OGWbhHj2NdCzBliOmPyQtAr770GITWvbAI+IRYyF
    S7Fnk6ZVVVHsxjtaHy1uJGFlaZzKR4AGNaUTOJMs6NadzCmGPAxNQQOCqoUjn4XR
    rOjr9w349JooGXhOxbu8nOxX
    -----END PRIVATE KEY-----
    """

  static let p256Public = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lf
    w0EkjqF7xB4FivAxzic30tMM4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==
    -----END PUBLIC KEY-----
    """

  static let p256Private = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIFKbhfNZfpDsW43+0+JjUr9K+bTeuxopu653+hBaXGA7oAoGCCqGSM49
    AwEHoUQDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lfw0EkjqF7xB4FivAxzic30tMM
    4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==
    -----END EC PRIVATE KEY-----
    """

  static let ed25519Public = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=
    -----END PUBLIC KEY-----
    """

  static let ed25519Private = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
    -----END PRIVATE KEY-----
    """

  /// The key `test-key-rsa`, for any padding.
  static let rsa1Public = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAhAKYdtoeoy8zcAcR874L
    8cnZxKzAGwd7v36APp7Pv6Q2jdsPBRrwWEBnez6d0UDKDwGbc6nxfEXAy5mbhgaj
    zrw3MOEt8uA5txSKobBpKDeBLOsdJKFqMGmXCQvEG7YemcxDTRPxAleIAgYYRjTS
    d/QBwVW9OwNFhekro3RtlinV0a75jfZgkne/YiktSvLG34lw2zqXBDTC5NHROUqG
    TlML4PlNZS5Ri2U4aCNx2rUPRcKIlE0PuKxI4T+HIaFpv8+rdV6eUgOrB2xeI1dS
    FFn/nnv5OoZJEIB+VmuKn3DCUcCZSFlQPSXSfBDiUGhwOw76WuSSsf1D4b/vLoJ1
    0wIDAQAB
    -----END PUBLIC KEY-----
    """

  /// The private half of `test-key-rsa`.
  static let rsa1Private = """
    -----BEGIN RSA PRIVATE KEY-----
    MIIEqAIBAAKCAQEAhAKYdtoeoy8zcAcR874L8cnZxKzAGwd7v36APp7Pv6Q2jdsP
    BRrwWEBnez6d0UDKDwGbc6nxfEXAy5mbhgajzrw3MOEt8uA5txSKobBpKDeBLOsd
    JKFqMGmXCQvEG7YemcxDTRPxAleIAgYYRjTSd/QBwVW9OwNFhekro3RtlinV0a75
    jfZgkne/YiktSvLG34lw2zqXBDTC5NHROUqGTlML4PlNZS5Ri2U4aCNx2rUPRcKI
    lE0PuKxI4T+HIaFpv8+rdV6eUgOrB2xeI1dSFFn/nnv5OoZJEIB+VmuKn3DCUcCZ
    SFlQPSXSfBDiUGhwOw76WuSSsf1D4b/vLoJ10wIDAQABAoIBAG/JZuSWdoVHbi56
    vjgCgkjg3lkO1KrO3nrdm6nrgA9P9qaPjxuKoWaKO1cBQlE1pSWp/cKncYgD5WxE
    CpAnRUXG2pG4zdkzCYzAh1i+c34L6oZoHsirK6oNcEnHveydfzJL5934egm6p8DW
    +m1RQ70yUt4uRc0YSor+q1LGJvGQHReF0WmJBZHrhz5e63Pq7lE0gIwuBqL8SMaA
    yRXtK+JGxZpImTq+NHvEWWCu09SCq0r838ceQI55SvzmTkwqtC+8AT2zFviMZkKR
    Qo6SPsrqItxZWRty2izawTF0Bf5S2VAx7O+6t3wBsQ1sLptoSgX3QblELY5asI0J
    YFz7LJECgYkAsqeUJmqXE3LP8tYoIjMIAKiTm9o6psPlc8CrLI9CH0UbuaA2JCOM
    cCNq8SyYbTqgnWlB9ZfcAm/cFpA8tYci9m5vYK8HNxQr+8FS3Qo8N9RJ8d0U5Csw
    DzMYfRghAfUGwmlWj5hp1pQzAuhwbOXFtxKHVsMPhz1IBtF9Y8jvgqgYHLbmyiu1
    mwJ5AL0pYF0G7x81prlARURwHo0Yf52kEw1dxpx+JXER7hQRWQki5/NsUEtv+8RT
    qn2m6qte5DXLyn83b1qRscSdnCCwKtKWUug5q2ZbwVOCJCtmRwmnP131lWRYfj67
    B/xJ1ZA6X3GEf4sNReNAtaucPEelgR2nsN0gKQKBiGoqHWbK1qYvBxX2X3kbPDkv
    9C+celgZd2PW7aGYLCHq7nPbmfDV0yHcWjOhXZ8jRMjmANVR/eLQ2EfsRLdW69bn
    f3ZD7JS1fwGnO3exGmHO3HZG+6AvberKYVYNHahNFEw5TsAcQWDLRpkGybBcxqZo
    81YCqlqidwfeO5YtlO7etx1xLyqa2NsCeG9A86UjG+aeNnXEIDk1PDK+EuiThIUa
    /2IxKzJKWl1BKr2d4xAfR0ZnEYuRrbeDQYgTImOlfW6/GuYIxKYgEKCFHFqJATAG
    IxHrq1PDOiSwXd2GmVVYyEmhZnbcp8CxaEMQoevxAta0ssMK3w6UsDtvUvYvF22m
    qQKBiD5GwESzsFPy3Ga0MvZpn3D6EJQLgsnrtUPZx+z2Ep2x0xc5orneB5fGyF1P
    WtP+fG5Q6Dpdz3LRfm+KwBCWFKQjg7uTxcjerhBWEYPmEMKYwTJF5PBG9/ddvHLQ
    EQeNC8fHGg4UXU8mhHnSBt3EA10qQJfRDs15M38eG2cYwB1PZpDHScDnDA0=
    -----END RSA PRIVATE KEY-----
    """

  /// An RSA key of 1024 bits, made for the tests.
  static let smallPrivate = """
    -----BEGIN PRIVATE KEY-----
    MIICeAIBADANBgkqhkiG9w0BAQEFAASCAmIwggJeAgEAAoGBAOdZyz4vGPrGjhxm
    9p7pIM0emqrpxNbmTflZ/P9OZxkdefqvdfGPfwiSoT6/3K4SRRJ/Uh4FUI/VtCt+
    tKueP3NVnK15vMSwfNtNoiofxmWyS6Vi85+IFYNODKJBc3bNbGFO6Hl0gB0YV1pK
    nI7wKXJspmBuJK2Psd5NOHiv24j/AgMBAAECgYEA1aBQ0GblBgv6hbd921ch9sZf
    w5qBLH8VWT8DIyzefo59aEJFAn2iq+PaCPtZZ1NvfJkc1qPJtEd9SvyBEEfcBX4r
    x31sBmhgVZGVCz/OW61XIS8ic7jmRSew6OYApSNqW/3W+IFLoS4RqvJbyl3D3C+O
    s1LRbFwIf0IThD9rZ8ECQQD9AgsY4eKWqAsrJasF9D+KXMUpU2evhi7/gmBIztem
    VJpGZLdZwl7o9IAwefzRztXkSa6wFo0kWt54mQO+C/BpAkEA6hYveosZyWS8bi4y
    5r7/Gm9hnIxkMvG3kyna/mgZMBAusPxpuWStLBMQgOK1EjH1Z6zWa8gK8LEXK7z1
    HB2BJwJBAJpMRLhICggXM7h8oHBhJN8c9KDfXLyO+NqaiF3ex2WI8w07HxZ+k6M+
    eW8W9jh+C7PNu9tn5WvmfwbNSpr8bQECQEWM8e5nBfJgi9vwvg7xELq5/TaWP+8j
    AngnJ3oPU+yD4luTo5YB47IEuBKTSVlunot/PvYnKZj6BPhp3CnOWmECQQC/ZXEp
    n4k/UDv1f5hdgxb757ZWJ65p5/4anh46PGN2HLFEVI7UHkJBEjqtpYXj5C9vsBlw
    n3p9VL1DCinE2Ux5
    -----END PRIVATE KEY-----
    """

  /// An Ed25519 key with a password, made for the tests.
  static let encryptedPrivate = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhm5ImUJ9mLbwICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEI8TWwyyYpKCx78uLp/t7B4EQI0h
    dhnhTdG89CHMsIUsEOmyIOltKn0vl5CRzXuV5g8ZklaJMTrElIUv/DMuSdLR0J+t
    jSpGNJzUeP9EftgfHNU=
    -----END ENCRYPTED PRIVATE KEY-----
    """

  /// A P-256 key that signs nothing, made for the tests.
  static let otherP256Public = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEfb8UHd+hF/RCQ0gDJI8BfBJRAcFj
    0haY7JB1kV0/USub/FdnY7MmBvitdRNvlJOpd/RlwN249JjQZiCvuspUlA==
    -----END PUBLIC KEY-----
    """

  /// An Ed25519 key that signs nothing, made for the tests.
  static let otherEd25519Public = """
    -----BEGIN PUBLIC KEY-----
    MCowBQYDK2VwAyEARfuzcml+LIYCoTeTgWfXKgzwD2R/o78GbYcOUgJtq8c=
    -----END PUBLIC KEY-----
    """

  /// The key `test-shared-secret`.
  static let secret = Array(
    Data(
      base64Encoded: "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==")
      ?? Data())

  static func verifyingKeys() throws -> [String: VerifyingKey] {
    [
      "test-key-rsa-pss": try VerifyingKey(pem: rsaPublic), "test-key-ecc-p256": try VerifyingKey(pem: p256Public),
      "test-key-ed25519": try VerifyingKey(pem: ed25519Public), "test-shared-secret": try VerifyingKey(secret: secret),
    ]
  }

  static func signingKeys() throws -> [String: SigningKey] {
    [
      "test-key-rsa-pss": try SigningKey(pem: Secret(rsaPrivate)),
      "test-key-ecc-p256": try SigningKey(pem: Secret(p256Private)),
      "test-key-ed25519": try SigningKey(pem: Secret(ed25519Private)),
      "test-shared-secret": try SigningKey(secret: secret),
    ]
  }

  private static func fields(_ fields: RawHeaders) -> HTTPFields { (try? fields.checkedFields()) ?? [:] }

  static let request = HTTPRequest(
    method: .post, scheme: "https", authority: "example.com", path: "/foo?param=Value&Pet=dog",
    headerFields: fields([
      "Date": "Tue, 20 Apr 2021 02:07:55 GMT", "Content-Type": "application/json",
      "Content-Digest":
        "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:",
      "Content-Length": "18",
    ]))
  static let requestBody = Data(#"{"hello": "world"}"#.utf8)

  static let response = HTTPResponse(
    status: .ok,
    headerFields: fields([
      "Date": "Tue, 20 Apr 2021 02:07:56 GMT", "Content-Type": "application/json",
      "Content-Digest":
        "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:",
      "Content-Length": "23",
    ]))
  static let responseBody = Data(#"{"message": "good dog"}"#.utf8)

  static let vectors = [
    Vector(
      section: "B.2.1", keyID: "test-key-rsa-pss",
      input: #"();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd""#,
      signature:
        "d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckz"
        + "XaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O"
        + "6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhd"
        + "xO5Nyt8C8ssinQ98Xw9Q==", isFixed: false),
    Vector(
      section: "B.2.2", keyID: "test-key-rsa-pss",
      input: #"("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key-rsa-pss""#
        + #";tag="header-example""#,
      signature:
        "LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkSow"
        + "OB4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkjqpcAoFqWFQh6"
        + "2s7Cl+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAoxk//0RoKUqiYY8Bh0aaUEb0"
        + "rQl3/XaVe4bXTugEjHSw==", isFixed: false),
    Vector(
      section: "B.2.3", keyID: "test-key-rsa-pss",
      input: #"("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-length")"#
        + #";created=1618884473;keyid="test-key-rsa-pss""#,
      signature:
        "bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768Z"
        + "rCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o"
        + "/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2"
        + "FUo5fTIztsDZKEgM4cUA==", isFixed: false),
    Vector(
      section: "B.2.4", keyID: "test-key-ecc-p256",
      input: #"("@status" "content-type" "content-digest" "content-length");created=1618884473"#
        + #";keyid="test-key-ecc-p256""#,
      signature: "wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==",
      isFixed: false, isResponse: true),
    Vector(
      section: "B.2.5", keyID: "test-shared-secret",
      input: #"("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret""#,
      signature: "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=", isFixed: true),
    Vector(
      section: "B.2.6", keyID: "test-key-ed25519",
      input: #"("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473"#
        + #";keyid="test-key-ed25519""#,
      signature: "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
      isFixed: true),
  ]
}
