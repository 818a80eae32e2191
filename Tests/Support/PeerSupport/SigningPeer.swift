// SPDX-License-Identifier: Apache-2.0

/// Other implementations of signatures, in Python: moto's AWS with authentication on (its first port), and a server of
/// its own (the second port) that asks the libraries of others.
///
/// | target of the second port | response |
/// |---|---|
/// | `/credentials` | JSON: an access key that moto knows and that may use S3: `id`, `secret` |
/// | `/botocore` | botocore's signature of the request that the JSON body describes; JSON: `headers`, `url` |
/// | `/message` | http-message-signatures verifies this request with the key of the field `X-Key`: 200, or 401 with the reason |
/// | `/signed` | a response that http-message-signatures has signed with the key of `X-Key`, with `Content-Digest` |
/// | `/token` | joserfc verifies the client assertion of a form with the key of the query; then 200 with an access token |
/// | `/proof` | joserfc verifies the DPoP proof; asks for a nonce first |
/// | `/webhook` | standardwebhooks signs the body with the field `X-Secret`; JSON: the header fields |
/// | `/stripe` | the same with the library of Stripe |
package enum SigningPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("python")
    return try await Peer.start(ports: 2) { directory, ports in
      let file = try directory.write(script, to: "signing.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file] + ports.map { "\($0)" })
    }
  }

  private static let script = #"""
    import base64, datetime, hashlib, http.server, json, os, sys, threading, time, types, urllib.parse

    os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "4"
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    import botocore.auth, botocore.awsrequest, botocore.credentials, botocore.session
    from http_message_signatures import (HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver,
                                         HTTPSignatureComponentResolver, algorithms)
    from joserfc import jwk, jws, jwt
    from moto.server import ThreadedMotoServer
    import standardwebhooks, stripe
    # An RSA key in a proof needs more than the usual 512 bytes.
    jws.JWSRegistry.max_header_length = 4096

    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=int(sys.argv[1]), verbose=False)
    moto.start()
    iam = botocore.session.get_session().create_client(
        "iam", region_name="us-east-1", endpoint_url=f"http://127.0.0.1:{sys.argv[1]}", aws_access_key_id="none",
        aws_secret_access_key="none")
    iam.create_user(UserName="shop")
    allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    iam.put_user_policy(UserName="shop", PolicyName="s3", PolicyDocument=json.dumps(allowed))
    created = iam.create_access_key(UserName="shop")["AccessKey"]
    iam.get_user(UserName="shop")

    def sign(wish):
        credentials = botocore.credentials.Credentials(wish["id"], wish["secret"], wish.get("token"))
        request = botocore.awsrequest.AWSRequest(
            method=wish["method"], url=wish["url"], headers=wish["headers"], data=base64.b64decode(wish["body"]))
        moment = datetime.datetime.fromtimestamp(wish["time"], datetime.timezone.utc)
        botocore.auth.get_current_datetime = lambda remove_tzinfo=True: moment.replace(tzinfo=None)
        is_s3 = wish["service"] == "s3"
        if wish.get("expires"):
            kind = botocore.auth.S3SigV4QueryAuth if is_s3 else botocore.auth.SigV4QueryAuth
            kind(credentials, wish["service"], wish["region"], expires=wish["expires"]).add_auth(request)
        else:
            if is_s3:
                request.context["client_config"] = types.SimpleNamespace(
                    s3={"payload_signing_enabled": wish.get("payload") != "UNSIGNED-PAYLOAD"})
                request.context["has_streaming_input"] = wish.get("payload") == "UNSIGNED-PAYLOAD"
            kind = botocore.auth.S3SigV4Auth if is_s3 else botocore.auth.SigV4Auth
            kind(credentials, wish["service"], wish["region"]).add_auth(request)
        return {"headers": dict(request.headers.items()), "url": request.url}

    class Keys(HTTPSignatureKeyResolver):
        def __init__(self, key):
            self.key = key

        def resolve_public_key(self, key_id):
            return self.key

        resolve_private_key = resolve_public_key

    def key_of(headers):
        from cryptography.hazmat.primitives import serialization
        kind, text = headers["X-Key"].split(" ", 1)
        data = base64.b64decode(text)
        algorithm = {"ed25519": algorithms.ED25519, "p256": algorithms.ECDSA_P256_SHA256,
                     "rsa": algorithms.RSA_PSS_SHA512, "hmac": algorithms.HMAC_SHA256}[kind]
        if kind == "hmac":
            return algorithm, Keys(data)
        load = serialization.load_pem_private_key if b"PRIVATE" in data else serialization.load_pem_public_key
        return algorithm, Keys(load(data, password=None) if b"PRIVATE" in data else load(data))

    class Message:
        def __init__(self, method, url, headers):
            self.method, self.url, self.headers = method, url, headers

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, status, content, fields=()):
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def message(self, body):
            algorithm, keys = key_of(self.headers)
            url = f"http://{self.headers['Host']}{self.path}"
            try:
                found = HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=keys).verify(
                    Message(self.command, url, self.headers), max_age=datetime.timedelta(minutes=5), body=body)
                self.reply(200, {"covered": len(found[0].covered_components)})
            except Exception as error:
                self.reply(401, {"error": repr(error)})

        def signed(self):
            algorithm, keys = key_of(self.headers)
            content = b'{"message": "good dog"}'
            headers = {"Content-Type": "application/json"}
            answer = types.SimpleNamespace(status_code=200, headers=headers, request=None, url=None)
            HTTPMessageSigner(signature_algorithm=algorithm, key_resolver=keys).sign(
                answer, key_id="peer", body=content,
                covered_component_ids=("@status", "content-type", "content-digest"))
            self.reply(200, content, answer.headers.items())

        def token(self, body, query):
            form = dict(urllib.parse.parse_qsl(body.decode()))
            key = jwk.import_key(base64.b64decode(query["key"]).decode(), query["kty"])
            try:
                token = jwt.decode(form["client_assertion"], key, algorithms=[query["alg"]])
                jwt.JWTClaimsRegistry(
                    iss={"essential": True, "value": "shop"}, sub={"essential": True, "value": "shop"},
                    aud={"essential": True}, exp={"essential": True}, jti={"essential": True}).validate(token.claims)
                assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
                assert form["grant_type"] == "client_credentials", form
            except Exception as error:
                return self.reply(401, {"error": "invalid_client", "error_description": repr(error)})
            self.reply(200, {"access_token": token.claims["jti"], "token_type": "Bearer", "expires_in": 600})

        def proof(self):
            try:
                proof = self.headers["DPoP"]
                header = jws.extract_compact(proof.encode()).headers()
                assert header["typ"] == "dpop+jwt" and "d" not in header["jwk"], header
                claims = jwt.decode(proof, jwk.import_key(header["jwk"]), algorithms=[header["alg"]]).claims
                assert claims["htm"] == self.command, claims
                assert claims["htu"] == f"http://{self.headers['Host']}{self.path.split('?')[0]}", claims
                assert abs(claims["iat"] - time.time()) < 60 and claims["jti"], claims
                scheme, token = self.headers["Authorization"].split(" ")
                assert scheme == "DPoP", scheme
                hashed = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).decode().rstrip("=")
                assert claims["ath"] == hashed, claims
            except Exception as error:
                return self.reply(400, {"error": repr(error)})
            if claims.get("nonce") != "n-1":
                challenge = 'DPoP error="use_dpop_nonce", error_description="send the nonce"'
                return self.reply(401, {}, [("WWW-Authenticate", challenge), ("DPoP-Nonce", "n-1")])
            self.reply(200, {"jti": claims["jti"]}, [("DPoP-Nonce", "n-1")])

        def webhook(self, body):
            secret, moment = self.headers["X-Secret"], datetime.datetime.now(datetime.timezone.utc)
            signature = standardwebhooks.Webhook(secret).sign("msg_1", moment, body.decode())
            self.reply(200, {"webhook-id": "msg_1", "webhook-timestamp": str(int(moment.timestamp())),
                             "webhook-signature": signature})

        def stripe(self, body):
            moment = str(int(time.time()))
            signature = stripe.WebhookSignature._compute_signature(f"{moment}.{body.decode()}", self.headers["X-Secret"])
            self.reply(200, {"Stripe-Signature": f"t={moment},v1={signature}"})

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path, _, query = self.path.partition("?")
            if path == "/credentials":
                self.reply(200, {"id": created["AccessKeyId"], "secret": created["SecretAccessKey"]})
            elif path == "/botocore":
                self.reply(200, sign(json.loads(body)))
            elif path == "/message":
                self.message(body)
            elif path == "/signed":
                self.signed()
            elif path == "/token":
                self.token(body, dict(urllib.parse.parse_qsl(query)))
            elif path == "/proof":
                self.proof()
            elif path == "/webhook":
                self.webhook(body)
            elif path == "/stripe":
                self.stripe(body)
            else:
                self.reply(404, {})

        do_POST = do_PUT = do_GET

        def log_message(self, *arguments):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()

    """#
}
